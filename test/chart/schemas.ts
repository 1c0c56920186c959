import {
  closed,
  edgeValues,
  flag,
  globalValues,
  kedaValues,
  map,
  migrationValues,
  persistenceValues,
  processValues,
  type Schema,
} from './schema.ts';
import { configSchema, readSettings } from './settings.ts';

/** Where the settings of each part stand in the code, beside those that every process has. */
const folders: Readonly<Record<string, readonly string[]>> = {
  gateway: ['gateway'],
  threads: ['services/threads'],
  execution: ['services/execution'],
  memory: ['services/memory'],
  standalone: ['services/standalone', 'services/execution/agents/default'],
};

/** `values.schema.json` of each chart, by its name. */
export async function valuesSchemas(): Promise<Readonly<Record<string, Schema>>> {
  const config = async (part: string): Promise<Schema> =>
    configSchema(await readSettings([...(folders[part] ?? []), 'services/runtime']));
  const gateway = { ...processValues(await config('gateway')), ...edgeValues };
  const threads = { ...processValues(await config('threads')), migration: migrationValues };
  const runs = processValues(await config('execution'));
  const execution = { ...runs, api: closed(runs), worker: closed({ ...runs, keda: kedaValues }) };
  const memory = processValues(await config('memory'));
  const { autoscaling: _scaling, podDisruptionBudget: _budget, ...one } = processValues(await config('standalone'));
  const standalone = { ...one, replicas: { const: 1 }, ...edgeValues, persistence: persistenceValues };
  const parts = { gateway, threads, execution, memory };
  return {
    ...Object.fromEntries(Object.entries({ ...parts, standalone }).map(([part, values]) => [part, ofChart(values)])),
    'agent-workflow': ofUmbrella(parts),
  };
}

/** `defaults` is the library chart, whose values Helm puts there. */
const ofChart = (values: Readonly<Record<string, Schema>>): Schema => ({
  $schema,
  ...closed({ global: globalValues, defaults: map, enabled: flag, ...values }),
});

/** The parts have schemas of their own. */
const ofUmbrella = (parts: Readonly<Record<string, unknown>>): Schema => ({
  $schema,
  ...closed({ global: globalValues, ...Object.fromEntries(Object.keys(parts).map((part) => [part, map])) }),
});

const $schema = 'http://json-schema.org/draft-07/schema#';
