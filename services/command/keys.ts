import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readRules } from '@agent-workflow/gateway/access/read-rules';
import { listKeys, makeKey, revokeKey, type KeptKey } from '@agent-workflow/gateway/api-keys/kept-key';
import { ConfigError, processEnv, readEnv, type Env } from '@agent-workflow/kit/env';
import { createLog } from '@agent-workflow/kit/log';
import { within, type Call } from '@agent-workflow/protos/call';
import type { ResourceCalls } from '@agent-workflow/protos/threads';
import { connect } from '@agent-workflow/protos/wire/connect';
import { securityChecks, securitySettings, toSecurity } from '@agent-workflow/runtime/process';
import { serviceAddress } from '@agent-workflow/runtime/service-address';
import { readServiceFile, serviceFileSettings } from '@agent-workflow/runtime/service-file';
import { standaloneSettings } from '@agent-workflow/standalone/config';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import { openThreads } from '@agent-workflow/threads/open';
import { readKeyTerms } from './key-terms.ts';
import { print, reporting } from './reporting.ts';

/** Makes a key, and prints its text to standard output and what it is to standard error. @returns the exit code */
export const createKey = (written: Parameters<typeof readKeyTerms>[0]): Promise<number> =>
  reporting(async () => {
    const terms = readKeyTerms(written, Date.now());
    warnOfUnknownRoles(terms.roles);
    await using record = openRecord(processEnv());
    const { id, text } = await makeKey(terms, record.threads, call);
    process.stderr.write(
      `key ${id} of ${terms.user}, until ${timeText(terms.expiresAt)}; it is shown now and never again\n`,
    );
    print([text]);
  });

/** A cluster is served elsewhere: where no `service.json` is beside the command, nothing is known of its roles. */
function warnOfUnknownRoles(given: readonly string[]): void {
  const { SERVICE_CONFIG: path } = readEnv(serviceFileSettings, processEnv());
  if (given.length === 0 || !existsSync(path)) return;
  const { roles } = readRules(readServiceFile(path));
  for (const name of given.filter((each) => !roles.has(each)))
    process.stderr.write(`warning: ${path} names no role "${name}": it counts for nothing until access.roles has it\n`);
}

/** Prints all keys, without their secrets. @returns the exit code */
export const printKeys = (): Promise<number> =>
  reporting(async () => {
    await using record = openRecord(processEnv());
    const keys = await listKeys(record.threads, call);
    const rows = [columns, ...keys.map(cellsOf)];
    const widths = columns.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
    print(
      rows.map((row) =>
        row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd(),
      ),
    );
  });

/** Revokes a key: the gateways refuse it within five seconds. @returns the exit code, 1 where there is no such key */
export const removeKey = (id: string): Promise<number> =>
  reporting(async () => {
    await using record = openRecord(processEnv());
    if (!(await revokeKey(id, record.threads, call))) throw new ConfigError(`there is no key ${id}`);
    print([`key ${id} is revoked; what it let in ends within 5 seconds`]);
  });

const columns = ['ID', 'USER', 'ROLES', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED', 'NAME'] as const;

const cellsOf = ({ id, user, roles, scopes, createdAt, expiresAt, lastUsedAt, name }: KeptKey): readonly string[] => [
  ...[id, user, roles.join(',') || '-', scopes.join(',')],
  ...[timeText(createdAt), expiresAt <= Date.now() ? 'expired' : timeText(expiresAt)],
  ...[lastUsedAt === undefined ? 'never' : timeText(lastUsedAt), name],
];

/** To the minute. */
const timeText = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16)}Z`;

const callMs = 30_000;
const call = (): Call => within(callMs);

interface Record extends AsyncDisposable {
  readonly threads: ResourceCalls;
}

const clusterSettings = { ...securitySettings, THREADS_ADDRESS: serviceAddress('threads') };
const ownSettings = { DATA_DIR: standaloneSettings.DATA_DIR };

/**
 * The record of a cluster, where `THREADS_ADDRESS` says where it is, else the one in `DATA_DIR`, also while a process serves from it.
 * @throws ConfigError
 */
function openRecord(env: Env): Record {
  if (env['THREADS_ADDRESS']) {
    const values = readEnv(clusterSettings, env, securityChecks);
    const connected = connect('threads', values.THREADS_ADDRESS, toSecurity(values));
    return { threads: connected, [Symbol.asyncDispose]: () => connected[Symbol.asyncDispose]() };
  }
  const folder = resolve(readEnv(ownSettings, env).DATA_DIR);
  const path = join(folder, 'threads.sqlite');
  if (!existsSync(path))
    throw new ConfigError(`there is no record in DATA_DIR ${folder}: start the service first, or set THREADS_ADDRESS`);
  const store = openSqliteThreadStore({ path });
  const values = { CHECKPOINT_KEEP: 1, CHECKPOINT_TTL: 0, OPEN_QUESTIONS: 1 };
  const opened = openThreads({ store, values, log: createLog('keys', 'silent') });
  return { threads: opened.threads, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
}
