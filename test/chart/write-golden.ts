import { readCommandLine } from '@agent-workflow/kit/command-line';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { goldenOf, render } from './render.ts';
import { scenarios } from './scenarios.ts';

readCommandLine({
  usage: `usage: npm run charts
  Writes what Helm makes of the charts`,
});

/** Renders every scenario into the file that its render is compared with. */
for (const scenario of scenarios) {
  const file = goldenOf(scenario);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, await render(scenario));
  process.stdout.write(`${scenario.title}: rendered\n`);
}
