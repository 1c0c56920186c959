import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { posix } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { root, workspaceOf } from '../tree.ts';
import { instrument } from './instrument.ts';
import type { Trip } from './trip.ts';

// The service as `npm start` runs it, each of whose functions says when it is entered. A message of the parent begins a trip; the next one ends it
// and is answered with what was entered meanwhile.
const ours = new RegExp(`^${pathToFileURL(root).href}(gateway|protos|services)/.*\\.ts$`);
/** The file of each function. */
const fileOf: string[] = [];

registerHooks({
  load(url, context, next) {
    if (!ours.test(url)) return next(url, context);
    const file = fileURLToPath(url);
    const { code, count } = instrument(readFileSync(file, 'utf8'), fileOf.length);
    const name = posix.relative(root, file);
    for (let each = 0; each < count; each += 1) fileOf.push(name);
    return { format: 'module', source: code, shortCircuit: true };
  },
});

let entered: number[] | undefined;
Object.assign(globalThis, { entered: (id: number) => entered?.push(id) });

process.on('message', () => {
  if (entered === undefined) entered = [];
  else {
    process.send?.(tripOf(entered));
    entered = undefined;
  }
});
process.channel?.unref();

function tripOf(calls: readonly number[]): Trip {
  const files = calls.map((id) => fileOf[id] ?? '');
  const workspaces = files.map(workspaceOf);
  return {
    files: [...new Set(files)].toSorted(),
    functions: new Set(calls).size,
    calls: calls.length,
    changes: workspaces.filter((name, at) => at > 0 && name !== workspaces[at - 1]).length,
  };
}

await import('@agent-workflow/standalone/main');
