import { globSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Setting, Settings } from '@agent-workflow/kit/env';
import type { Schema } from './schema.ts';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** What the charts set themselves: whoever set it in `config` would be overruled, or would break the pod. */
export const reserved: ReadonlySet<string> = new Set([
  'HOST',
  'PORT',
  'SERVICE_CONFIG',
  'DATA_DIR',
  'GRPC_HOST',
  'GRPC_PORT',
  'HEALTH_PORT',
  'METRICS_PORT',
  'METRICS_HOST',
  'DRAIN_SECONDS',
  'ROLE',
  'SERVICE_TOKEN',
  'TLS_CERT_FILE',
  'TLS_KEY_FILE',
  'TLS_CA_FILE',
  'THREADS_ADDRESS',
  'EXECUTION_ADDRESS',
  'MEMORY_ADDRESS',
]);

/** All that the files below these folders export as settings, by the names of the variables. */
export async function readSettings(folders: readonly string[]): Promise<ReadonlyMap<string, Setting<unknown>>> {
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

/** What `config` may hold: each setting by its name, with what its own reading refuses. */
export function configSchema(settings: ReadonlyMap<string, Setting<unknown>>): Schema {
  const allowed = [...settings].filter(([name]) => !reserved.has(name)).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(allowed.map(([name, setting]) => [name, settingSchema(setting)])),
  };
}

function settingSchema({ doc, read }: Setting<unknown>): Schema {
  const problem = problemOf(read('\u0000'));
  const [, min, max] = /^must be a whole number from (-?\d+) to (\d+)$/.exec(problem) ?? [];
  const described = { description: doc };
  if (min !== undefined) return { ...described, type: 'integer', minimum: Number(min), maximum: Number(max) };
  const words = /^must be one of (.*)$/.exec(problem)?.[1]?.split(', ');
  if (words === undefined) return { ...described, type: 'string', minLength: 1 };
  const flags = words.includes('true') ? [true, false] : [];
  return { ...described, enum: [...words, ...flags] };
}

const problemOf = (value: unknown): string =>
  typeof value === 'object' && value !== null && 'problem' in value ? String(value.problem) : '';
