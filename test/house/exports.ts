/** `npx node test/house/exports.ts [folder]`: each export that nobody imports, or that only tests import. */
import { idleExports } from './idle-exports.ts';

const [folder = ''] = process.argv.slice(2);
const idle = idleExports().filter(({ file }) => file.startsWith(folder));
for (const { file, line, name, importers } of idle) {
  process.stdout.write(`${file}:${line}: ${name} (imported by ${importers})\n`);
}
const count = (who: string): number => idle.filter(({ importers }) => importers === who).length;
process.stdout.write(`${count('nobody')} imported by nobody, ${count('tests')} by tests alone\n`);
