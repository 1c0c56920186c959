import type { Setting } from '@agent-workflow/kit/env';
import { parts, readPartSettings, type NamedSettings, type Part } from './settings.ts';
import {
  closed,
  edgeValues,
  extraObjects,
  flag,
  globalValues,
  kedaValues,
  map,
  migrationValues,
  persistenceValues,
  poolsSchema,
  poolValues,
  processValues,
  tokenValues,
  type Schema,
} from './values.ts';

/** Settings that the charts set themselves. They are refused in `config`, where they would break the pod. */
const reserved: ReadonlySet<string> = new Set([
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

/** What `values.yaml` of each chart may hold: `values.schema.json` by the name of the chart. */
export async function chartSchemas(): Promise<Readonly<Record<string, Schema>>> {
  const process = async (part: Part): Promise<Readonly<Record<string, Schema>>> =>
    processValues(configSchema(await readPartSettings(part)));
  const runs = await process('execution');
  const { autoscaling: _scaling, podDisruptionBudget: _budget, ...single } = await process('standalone');
  const values: Readonly<Record<Part, Readonly<Record<string, Schema>>>> = {
    gateway: { ...(await process('gateway')), ...edgeValues },
    threads: { ...(await process('threads')), migration: migrationValues },
    execution: { ...runs, api: closed(runs), worker: closed({ ...runs, keda: kedaValues }) },
    memory: await process('memory'),
    standalone: { ...single, replicas: { const: 1 }, ...edgeValues, persistence: persistenceValues },
  };
  const worker = await readPartSettings('execution');
  const pool = poolValues(processValues(configSchema(new Map([...worker].filter(([name]) => !ofPools.has(name))))));
  return {
    ...Object.fromEntries(parts.map((part) => [part, partSchema(values[part])])),
    agent: partSchema(pool),
    'agent-workflow': umbrellaSchema(
      parts.filter((part) => part !== 'standalone'),
      pool,
    ),
  };
}

/** Settings of workers that are no values of a pool: the chart sets the first itself, the others are of the platform. */
const ofPools: ReadonlySet<string> = new Set([
  ...['AGENT_REVISION', 'POOL_CREDENTIALS'],
  ...['POOL_CALLS_IN_FLIGHT', 'POOL_CALLS_PER_SECOND', 'POOL_IN_FLIGHT_MB'],
]);

/** `defaults` is the library chart: Helm puts its values there. */
const partSchema = (values: Readonly<Record<string, Schema>>): Schema => ({
  $schema,
  ...closed({ global: globalValues, defaults: map, enabled: flag, extraObjects, ...values }),
});

/** Helm checks the values below a part's name, and those below `agent`, by the schema of the chart of that name. */
const umbrellaSchema = (names: readonly Part[], pool: Readonly<Record<string, Schema>>): Schema => {
  const { platform: _ours, ...ofPool } = pool;
  return {
    $schema,
    ...closed({
      global: globalValues,
      extraObjects,
      ...Object.fromEntries([...names, 'agent'].map((part) => [part, map])),
      agents: poolsSchema(closed({ ...ofPool, serviceToken: tokenValues }, ['agents', 'revisions'])),
    }),
  };
};

const $schema = 'http://json-schema.org/draft-07/schema#';

/** The schema of `config`: each setting by its name, with the bounds or the words that it accepts. */
function configSchema(settings: NamedSettings): Schema {
  const allowed = [...settings].filter(([name]) => !reserved.has(name)).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(allowed.map(([name, setting]) => [name, settingSchema(setting)])),
  };
}

/** A setting says what it accepts only when it refuses a text, so one is given to it that none accepts. */
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
