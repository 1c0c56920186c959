import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readCommandLine } from '@agent-workflow/kit/command-line';
import { generatedFiles } from './generator/files.ts';
import { root } from './generator/settings.ts';

readCommandLine({
  usage: `usage: npm run docs
  Writes the settings page, the list of the readers of settings, and the schemas of the charts`,
});

/** Writes what is made from the code: the page of settings, the list of their readers, and the schemas of the charts. */
for (const { path, text } of await generatedFiles()) {
  await writeFile(join(root, path), text);
  process.stdout.write(`${path}\n`);
}
