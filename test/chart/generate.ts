import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mkdir } from 'node:fs/promises';
import { scenarios } from './scenarios.ts';
import { goldenOf, render } from './render.ts';
import { valuesSchemas } from './schemas.ts';
import { root } from './settings.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Writes what is made from the code and from the charts: the schemas of their values, and their renders to be looked at. */
for (const [chart, schema] of Object.entries(await valuesSchemas())) {
  await writeFile(join(root, 'deploy/charts', chart, 'values.schema.json'), `${JSON.stringify(schema, null, 2)}\n`);
  say(`${chart}: values.schema.json`);
}
for (const scenario of scenarios) {
  const file = goldenOf(scenario);
  await mkdir(join(file, '..'), { recursive: true });
  await writeFile(file, await render(scenario));
  say(`${scenario.title}: rendered`);
}
