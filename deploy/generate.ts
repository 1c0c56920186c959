import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readCommandLine } from '@agent-workflow/kit/command-line';
import { generatedFiles } from './generator/files.ts';
import { root } from './generator/settings.ts';

readCommandLine({
  usage: `usage: npm run docs
  Writes the settings page, the list of the readers of settings, the schemas of the charts, and the page of LangGraph's operations`,
});

/** Writes what is made from the code: the page of settings, the list of their readers, the schemas of the charts, and the page of operations. */
for (const { path, text } of await generatedFiles()) {
  await writeFile(join(root, path), text);
  process.stdout.write(`${path}\n`);
}
