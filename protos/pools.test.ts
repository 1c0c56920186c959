import { readFileSync } from 'node:fs';
import test from 'ava';
import { executionPools } from './execution.ts';
import { toTypeScript } from './generator.ts';
import { memoryPools } from './memory.ts';
import type { PoolRule } from './pools.ts';
import { threadsPools } from './threads.ts';

/** What a pool may call: everything else is `never`. A new RPC that a pool may call must be written here too. */
const allowed = {
  threads: {
    agent: ['claimRun', 'getRegisteredAgent', 'registerRevision'],
    run: [
      ...['commitStep', 'endRun', 'getCheckpoint', 'getRun', 'getState', 'listCheckpoints', 'listRunMessages'],
      ...['listRunSteps', 'noteToolResult', 'noteToolStarted', 'releaseRun'],
    ],
    'run, also expired': ['renewGrant'],
  },
  execution: {},
  memory: { run: ['delete', 'forget', 'list', 'search', 'store', 'update'] },
};

const tables: Readonly<Record<keyof typeof allowed, Readonly<Record<string, PoolRule>>>> = {
  threads: threadsPools,
  execution: executionPools,
  memory: memoryPools,
};

for (const context of ['threads', 'execution', 'memory'] as const)
  test(`a pool may call of ${context} what is listed here, and nothing else`, (t) => {
    const found: Partial<Record<PoolRule, string[]>> = {};
    for (const [method, rule] of Object.entries(tables[context]))
      if (rule !== 'never') (found[rule] ??= []).push(method);
    for (const methods of Object.values(found)) methods.sort();
    t.deepEqual(found, allowed[context]);
  });

const source = readFileSync(new URL('./memory.proto', import.meta.url), 'utf8');
const markOfGet = /pool: never\n(?= *\/\/ retry: safe\n {2}rpc Get\()/;

test('an RPC that does not say what pools may call is not generated', (t) => {
  const without = source.replace(/ *\/\/ pool: never\n(?= *\/\/ retry: safe\n {2}rpc Get\()/, '');
  t.throws(() => toTypeScript('memory', without), { message: /Memory\.Get: above its line .* must be `\/\/ pool: / });
  t.throws(() => toTypeScript('memory', source.replace(markOfGet, 'pool: perhaps\n')), { message: /Memory\.Get/ });
});

test('what a pool may call for its agents or its run names them in its request', (t) => {
  const ofAgent = source.replace(markOfGet, 'pool: agent\n');
  t.throws(() => toTypeScript('memory', ofAgent), { message: /Memory\.Get: pool: agent needs a field `agent`/ });
  t.notThrows(() => toTypeScript('memory', source.replace(markOfGet, 'pool: run\n')));
  const noOwner = source
    .replace(markOfGet, 'pool: run\n')
    .replace(/(message GetRequest \{\n) {2}string owner = 1;\n/, '$1');
  t.throws(() => toTypeScript('memory', noOwner), { message: /Memory\.Get: pool: run needs a field `owner`/ });
});
