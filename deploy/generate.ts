import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generatedFiles } from './generator/files.ts';
import { root } from './generator/settings.ts';

/** Writes what is made from the code: the page of settings, the list of their readers, and the schemas of the charts. */
for (const { path, text } of await generatedFiles()) {
  await writeFile(join(root, path), text);
  process.stdout.write(`${path}\n`);
}
