import { invalidAt } from '../../../http/fields.ts';
import { threadFields } from '../schemas/threads.ts';

/** What a path may begin in. */
const roots: readonly string[] = ['config', 'interrupts', 'metadata', 'values'];

/** Checks what a search of threads is to extract. @throws Invalid for a name or a path that extracts nothing */
export function checkExtract(extract: Readonly<Record<string, string>>): void {
  for (const [name, path] of Object.entries(extract)) {
    const loc = ['body', 'extract', name];
    if ((threadFields as readonly string[]).includes(name)) throw invalidAt(loc, 'must not be named as a field is');
    if (!/^[A-Za-z_]\w*$/.test(name)) throw invalidAt(loc, 'must have a name of letters, digits and underscores');
    const [root = ''] = path.split(/[.[]/, 1);
    if (!roots.includes(root)) throw invalidAt(loc, `must be a path that begins with one of: ${roots.join(', ')}`);
  }
}
