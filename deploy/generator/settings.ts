import { globSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Setting, Settings } from '@agent-workflow/kit/env';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** Settings by the names of their variables, in the order of the code. */
export type NamedSettings = ReadonlyMap<string, Setting<unknown>>;

/** The folders whose settings each process reads. */
const foldersOf = {
  gateway: ['gateway'],
  threads: ['services/threads'],
  execution: ['services/execution'],
  memory: ['services/memory'],
  standalone: ['services/standalone'],
} as const;

/** A process of the service: each has a chart of the same name. */
export type Part = keyof typeof foldersOf;

export const parts = Object.keys(foldersOf) as readonly Part[];

/** Every setting that a process reads. */
export const readPartSettings = async (part: Part): Promise<NamedSettings> => readSettings(foldersOf[part]);

/** Every setting that a file below these folders exports. */
async function readSettings(folders: readonly string[]): Promise<NamedSettings> {
  const files = folders.flatMap((folder) =>
    globSync(`${folder}/**/{config,process,settings,*-settings}.ts`, {
      cwd: root,
      exclude: (name) => name === 'node_modules',
    }),
  );
  const known = new Map<string, Setting<unknown>>();
  for (const file of files.toSorted()) {
    const exported = (await import(pathToFileURL(join(root, file)).href)) as Record<string, unknown>;
    for (const [name, value] of Object.entries(exported)) {
      if (!/settings$/i.test(name) || !isSettings(value)) continue;
      for (const [variable, setting] of Object.entries(value)) known.set(variable, setting);
    }
  }
  return known;
}

const isSettings = (value: unknown): value is Settings =>
  typeof value === 'object' &&
  value !== null &&
  Object.values(value).every((setting) => typeof setting === 'object' && setting !== null && 'read' in setting);
