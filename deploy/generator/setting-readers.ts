import { parts, readPartSettings } from './settings.ts';

/** `services/runtime/setting-readers.ts`: a process finds there which variables are settings of other kinds of processes. */
export async function settingReaders(): Promise<string> {
  const readers = new Map<string, string[]>();
  for (const part of parts) {
    for (const name of (await readPartSettings(part)).keys()) readers.set(name, [...(readers.get(name) ?? []), part]);
  }
  return `/** Every setting, with the kinds of processes that read it. \`npm run docs\` writes this file from the settings of each process. */
export const settingReaders: Readonly<Record<string, readonly string[]>> = ${JSON.stringify(Object.fromEntries([...readers].toSorted(([a], [b]) => (a < b ? -1 : 1))))};
`;
}
