// read_arrow.mjs FILE...: prints what flechette reads, a line of JSON for each file: the values of all columns, or
// {"error": "..."}. The folder of flechette is in the environment variable FLECHETTE.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const { tableFromIPC } = await import(pathToFileURL(`${process.env.FLECHETTE}/src/index.js`));

function plain(value) {
  if (value === null || value === undefined) return null;
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : Number.isFinite(value) ? value : `${value}`;
  if (value instanceof Map) return { map: [...value].map(plain) };
  // Lists of numbers are typed arrays where no element is null.
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return Array.from(value, plain);
  if (typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, plain(part)]));
  }
  return value;
}

for (const path of process.argv.slice(2)) {
  let answer;
  try {
    const table = tableFromIPC(readFileSync(path), { useBigInt: true, useDecimalInt: true, useMap: true });
    answer = table.schema.fields.map((field, i) => {
      const column = table.getChildAt(i);
      return { name: field.name, values: Array.from({ length: table.numRows }, (_, row) => plain(column.at(row))) };
    });
  } catch (error) {
    answer = { error: String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
