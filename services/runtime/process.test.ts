import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { ConfigError, readEnv } from '@agent-workflow/kit/env';
import { fromUnknown } from '@agent-workflow/kit/errors';
import { createLog } from '@agent-workflow/kit/log';
import { grpcSettings, processSettings, securitySettings, toGrpcOptions, toSecurity } from './process.ts';

const silentLog = createLog('test', 'silent');

const settings = { ...processSettings, ...grpcSettings, ...securitySettings };

test('a port that others reach is not opened to everyone', (t) => {
  t.throws(() => toGrpcOptions(readEnv(settings, {}), silentLog), {
    instanceOf: ConfigError,
    message: /SERVICE_TOKEN or the TLS files/,
  });
  t.deepEqual(toGrpcOptions(readEnv(settings, { GRPC_HOST: '127.0.0.1' }), silentLog).security, {});
  t.deepEqual(toGrpcOptions(readEnv(settings, { SERVICE_TOKEN: 's' }), silentLog).security, { token: 's' });
});

test('calls that fail for the same reason are one line with a stack, and those of another method or reason one more each', (t) => {
  const lines: unknown[] = [];
  const log = Object.assign(createLog('test', 'silent'), {
    error: ({ err, method }: { readonly err: Error; readonly method: string }) =>
      void lines.push([method, (err.cause as Error).message]),
  });
  const { onFailure } = toGrpcOptions(readEnv(settings, { SERVICE_TOKEN: 's' }), log);
  const failure = (reason: string): Error => fromUnknown(new TypeError(reason));
  for (let call = 0; call < 1000; call++) onFailure(failure('a field of null'), '/Memory/Search');
  onFailure(failure('a field of null'), '/Memory/List');
  onFailure(failure('a number'), '/Memory/Search');
  t.deepEqual(lines, [
    ['/Memory/Search', 'a field of null'],
    ['/Memory/List', 'a field of null'],
    ['/Memory/Search', 'a number'],
  ]);
});

test('of several tokens the first is shown and each is taken; an empty one is refused and not told', (t) => {
  const read = (token: string): object => toSecurity(readEnv(securitySettings, { SERVICE_TOKEN: token }));
  t.deepEqual(read('new , old'), { token: 'new', alsoTaken: ['old'] });
  for (const token of [',', 'one,', ',one', 'one,,two', ' '])
    t.throws(() => read(token), {
      instanceOf: ConfigError,
      message: 'SERVICE_TOKEN must be tokens separated by commas, none empty, not (hidden)',
    });
});

test('the health has a port of its own only when it is told one', (t) => {
  t.false('healthPort' in toGrpcOptions(readEnv(settings, { SERVICE_TOKEN: 's' }), silentLog));
  t.is(toGrpcOptions(readEnv(settings, { SERVICE_TOKEN: 's', HEALTH_PORT: '50052' }), silentLog).healthPort, 50_052);
});

test('the three TLS files are named together and can be read', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'agent-workflow-tls-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = join(folder, 'any.pem');
  writeFileSync(file, 'pem');
  const named = { TLS_CERT_FILE: file, TLS_KEY_FILE: file };
  t.throws(() => toSecurity(readEnv(securitySettings, named)), { instanceOf: ConfigError, message: /together/ });
  t.throws(() => toSecurity(readEnv(securitySettings, { ...named, TLS_CA_FILE: join(folder, 'none.pem') })), {
    instanceOf: ConfigError,
    message: /none\.pem cannot be read/,
  });
  t.deepEqual(toSecurity(readEnv(securitySettings, { ...named, TLS_CA_FILE: file })), {
    tls: { certificate: file, key: file, authorities: file },
  });
});
