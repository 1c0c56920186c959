import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { unavailable } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import Koa from 'koa';
import test, { type ExecutionContext } from 'ava';
import type { Context, RequestState } from '../http/context.ts';
import { dialects } from '../dialects/dialects.ts';
import { createAdmission } from './admission.ts';
import { everyRequest } from './request.ts';

type Line = readonly [level: string, fields: Readonly<Record<string, unknown>>];

/** The log line of a request that is handled so. */
async function lineOf(t: ExecutionContext, handle: (ctx: Context) => void): Promise<Line> {
  const lines: Line[] = [];
  const at =
    (level: string) =>
    (fields: Record<string, unknown>): void =>
      void lines.push([level, fields]);
  const log = {
    isLevelEnabled: () => true,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
  } as unknown as Log;
  const app = new Koa<RequestState>();
  app.use(
    everyRequest({
      dialects,
      config: { HSTS_SECONDS: 0 },
      reached: { proxyHops: 0, publicUrl: undefined },
      log,
      meters: undefined,
      spans: undefined,
    }),
  );
  app.use(handle);
  const server = app.listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const reply = await fetch(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}`);
  t.is(reply.status, 503);
  await reply.text();
  const [line, ...more] = lines;
  t.deepEqual(more, []);
  return line ?? ['none', {}];
}

test('a request that is refused because too much is in flight is a warning without a stack', async (t) => {
  const admission = createAdmission({ limit: 10, maxBody: 1, callerOf: () => 'ada' });
  const [level, fields] = await lineOf(t, (ctx) => {
    admission.reserve(ctx, 10);
    admission.reserve(ctx, 10);
  });
  t.is(level, 'warn');
  t.like(fields, { code: 'Unavailable', status: 503 });
  t.regex(String(fields['reason']), /reached its bound on the bytes/);
  t.false('err' in fields);
});

test('a probe that finds a store unavailable is for those who look for it: the part that fails has its own line', async (t) => {
  const [level, fields] = await lineOf(t, (ctx) => {
    ctx.state.route = { name: 'readyz', path: '/readyz', isStream: false };
    throw unavailable('the record is unavailable');
  });
  t.is(level, 'debug');
  t.like(fields, { status: 503 });
});

test('a request that needs a store that is unavailable is an error with its cause', async (t) => {
  const cause = new Error('refused');
  const [level, fields] = await lineOf(t, () => {
    throw unavailable('the store is unavailable', cause);
  });
  t.is(level, 'error');
  t.like(fields['err'], { code: 'Unavailable', message: 'the store is unavailable', cause });
});
