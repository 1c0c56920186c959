/** `npx node test/house/words.ts [folder]`: each place in names, comments and READMEs where a word stands that the glossary replaces. */
import { allHits } from './glossary.ts';

const [folder = ''] = process.argv.slice(2);
const hits = allHits().filter(({ file }) => file.startsWith(folder));
for (const { file, line, found, use } of hits) {
  process.stdout.write(`${file}:${line}: ${found} → ${use}\n`);
}
process.stdout.write(`${hits.length} in ${new Set(hits.map(({ file }) => file)).size} files\n`);
