import { readFileSync } from 'node:fs';
import test from 'ava';
import { executionRetries } from './execution.ts';
import { toTypeScript } from './generator.ts';
import { memoryRetries } from './memory.ts';
import type { RetryRule } from './retry.ts';
import { threadsRetries } from './threads.ts';

/** Every RPC of every service by its mark. A new RPC, and a new mark, must be written here too. */
const marks = {
  threads: {
    safe: [
      ...[
        'beginFile',
        'deleteFile',
        'endOnce',
        'finishDelete',
        'finishFile',
        'forgetFile',
        'getCheckpoint',
        'passDeadline',
      ],
      ...['getFile', 'getMessage', 'getRun', 'getState', 'getThread', 'listCheckpoints', 'listDeleting'],
      ...[
        'listFiles',
        'listFilesToRemove',
        'listIdle',
        'listMessages',
        'listOpenRuns',
        'listOwnRuns',
        'listRunMessages',
      ],
      ...['getRegisteredAgent', 'getRevision', 'listRegisteredAgents', 'listRunSteps', 'listRunTrace', 'listRuns'],
      ...['listAllRuns', 'listSleepingRuns'],
      ...[
        'countRuns',
        'countThreads',
        'listThreads',
        'noteToolResult',
        'registerRevision',
        'renewGrant',
        'retireRevision',
        'routeAgent',
      ],
      ...['countResources', 'deleteResource', 'getResource', 'listDueResources', 'listResources', 'searchThreads'],
      ...['getQuestion', 'listQuestions', 'listResourceMarks', 'listRunRequests'],
    ].toSorted(),
    'safe, takes long': ['forkThread'],
    attempt: [
      ...[
        'acceptRun',
        'addMessages',
        'answerQuestion',
        'beginDelete',
        'beginOnce',
        'claimRun',
        'clearState',
        'commitStep',
        'createThread',
      ],
      ...[
        'deleteMessage',
        'endRun',
        'fixThread',
        'noteToolStarted',
        'pruneThread',
        'putResource',
        'releaseRun',
        'restoreThread',
        'updateThread',
        'writeState',
      ],
    ],
  },
  execution: {
    safe: ['checkTools', 'countOpenRuns', 'getAgent', 'getGraph', 'getHealth', 'listAgents', 'start', 'wait'],
    'safe, takes long': ['follow'],
    attempt: ['answerQuestion', 'stopRun', 'updateState'],
    'attempt, takes long': ['deleteThread'],
  },
  memory: {
    safe: ['get', 'list'],
    'safe, takes long': ['search', 'store'],
    attempt: ['delete'],
    'attempt, takes long': ['forget', 'update'],
  },
};

const tables: Readonly<Record<keyof typeof marks, Readonly<Record<string, RetryRule>>>> = {
  threads: threadsRetries,
  execution: executionRetries,
  memory: memoryRetries,
};

for (const context of ['threads', 'execution', 'memory'] as const)
  test(`every RPC of ${context} has the mark that is listed here`, (t) => {
    const found: Record<string, string[]> = {};
    for (const [method, { retry, takesLong }] of Object.entries(tables[context]))
      (found[takesLong ? `${retry}, takes long` : retry] ??= []).push(method);
    for (const methods of Object.values(found)) methods.sort();
    t.deepEqual(found, marks[context]);
  });

const source = readFileSync(new URL('./memory.proto', import.meta.url), 'utf8');

test('an RPC without a mark is not generated', (t) => {
  const without = source.replace(/ *\/\/ retry: safe\n(?= {2}rpc Get\()/, '');
  t.throws(() => toTypeScript('memory', without), { message: /Memory\.Get: the line above it must be `\/\/ retry: / });
  const misspelt = source.replace(/retry: safe\n(?= {2}rpc Get\()/, 'retry: perhaps\n');
  t.throws(() => toTypeScript('memory', misspelt), { message: /Memory\.Get/ });
});

test('an RPC with the mark attempt needs a field attempt_id in its request', (t) => {
  const wrong = source.replace(/retry: safe\n(?= {2}rpc Get\()/, 'retry: attempt\n');
  t.throws(() => toTypeScript('memory', wrong), { message: /Memory\.Get: .* needs a field .*attempt_id/ });
});
