import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type AddressInfo } from 'node:net';
import { createServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { isServiceError } from '@agent-workflow/kit/errors';
import { createLog } from '@agent-workflow/kit/log';
import { openRedis } from '@agent-workflow/gateway/redis/client';
import test from 'ava';
import { openAuthority } from '../servers/certificates.ts';
import { withServer } from '../servers/real-suite.ts';
import { redis } from '../servers/redis.ts';

const silentLog = createLog('test', 'silent');

/** A port that speaks TLS, with a certificate of this authority, before one that does not. */
async function openTls(
  target: number,
  files: { certificate: string; key: string },
): Promise<AsyncDisposable & { port: number }> {
  const [cert, key] = await Promise.all([readFile(files.certificate), readFile(files.key)]);
  const server = createServer({ cert, key }, (near) => {
    const far = connect(target, '127.0.0.1');
    near.pipe(far).pipe(near);
    near.on('error', () => far.destroy());
    far.on('error', () => near.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}

withServer(test, redis, (server) => {
  test.serial(
    'by rediss:// the connection is TLS, and only to whom an authority that is trusted vouches for',
    async (t) => {
      await using authority = await openAuthority();
      const files = await authority.sign('redis');
      await using tls = await openTls(Number(new URL((await server()).url).port), files);
      const get = async (scheme: string): Promise<unknown> => {
        const config = {
          REDIS_URL: `${scheme}://localhost:${String(tls.port)}`,
          REDIS_KEY_PREFIX: '',
          REDIS_TIMEOUT_MS: 2000,
        };
        await using connection = await openRedis({ config, log: silentLog });
        return await connection.send('PING');
      };
      t.true(isServiceError(await t.throwsAsync(get('rediss')), 'Unavailable'), 'its authority is not known');
      const trusted = getCACertificates();
      setDefaultCACertificates([...trusted, await readFile(files.authorities, 'utf8')]);
      t.teardown(() => {
        setDefaultCACertificates(trusted);
      });
      t.is(await get('rediss'), 'PONG');
      t.true(isServiceError(await t.throwsAsync(get('redis')), 'Unavailable'), 'nothing is told in the clear');
    },
  );
});
