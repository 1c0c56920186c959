import { webhookSecretRule } from '@agent-workflow/protos/webhooks';
import test from 'ava';
import { Webhook as Verifier } from 'standardwebhooks';
import { openReceiver } from '../contract/webhook-receiver.ts';
import { user } from '../servers/client.ts';
import { until } from '../until.ts';
import { serve } from './service.ts';

const { send, data, refused } = serve(test, 'obedient', { WEBHOOK_NETWORKS: '127.0.0.0/8' });

interface Webhook {
  readonly webhook_id: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly enabled: boolean;
}

interface Delivery {
  readonly delivery_id: string;
  readonly webhook_id: string | null;
  readonly state: string;
  readonly attempts: number;
  readonly last_status: number | null;
  readonly event: string;
}

const at = (id: string, rest = ''): string => `/v1/webhooks/${id}${rest}`;

const deliveriesOf = async (webhookId: string | null): Promise<readonly Delivery[]> => {
  const { deliveries } = (await send('GET', '/v1/deliveries')).body.data as {
    readonly deliveries: readonly Delivery[];
  };
  return deliveries.filter(({ webhook_id: id }) => id === webhookId);
};

test.serial('a webhook is registered, shown without its secret, changed and deleted', async (t) => {
  const body = { url: 'https://example.com/a#b', events: ['run.failed'], description: 'Orders' };
  const made: Webhook = await data(t, 'createWebhook', send('POST', '/v1/webhooks', body));
  t.like(made, { url: 'https://example.com/a', events: ['run.failed'], description: 'Orders', enabled: true });
  const { webhook_id: id } = made;
  t.deepEqual(await data(t, 'getWebhook', send('GET', at(id))), made as never);
  const { secret }: { readonly secret: string } = await data(t, 'getWebhookSecret', send('GET', at(id, '/secret')));
  t.regex(secret, /^whsec_/);
  t.false(JSON.stringify(made).includes(secret));
  const changed: Webhook = await data(t, 'updateWebhook', send('PATCH', at(id), { enabled: false, events: [] }));
  t.like(changed, { url: 'https://example.com/a', events: [], enabled: false, description: 'Orders' });
  await data(t, 'rotateWebhookSecret', send('POST', at(id, '/rotate'), {}));
  t.like(await data(t, 'getWebhookSecret', send('GET', at(id, '/secret'))), { old_secret: secret });
  await data(t, 'deleteWebhook', send('DELETE', at(id)));
  await refused(t, send('GET', at(id)), 404, 'RESOURCE_NOT_FOUND');
  await refused(t, send('DELETE', at(id)), 404, 'RESOURCE_NOT_FOUND');
});

test.serial('an address, an event or a secret that cannot be is refused with its place', async (t) => {
  const bodies: readonly (readonly [object, readonly unknown[]])[] = [
    [{}, ['body', 'url']],
    [{ url: 'example.com' }, ['body', 'url']],
    [{ url: 'ftp://example.com' }, ['body', 'url']],
    [{ url: 'https://a:b@example.com' }, ['body', 'url']],
    [{ url: `https://example.com/${'a'.repeat(2048)}` }, ['body', 'url']],
    [{ url: 'https://example.com', events: ['run.begun'] }, ['body', 'events', 0]],
    [{ url: 'https://example.com', secret: 'hush' }, ['body', 'secret']],
  ];
  for (const [body, place] of bodies)
    t.deepEqual(await refused(t, send('POST', '/v1/webhooks', body), 422, 'VALIDATION_ERROR'), [place]);
  const url = 'https://example.com';
  const secretOf = (bytes: number): string => `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`;
  for (const secret of [secretOf(23), secretOf(65), secretOf(66), secretOf(25).replace('==', ''), `${secretOf(24)}A`]) {
    const reply = await send('POST', '/v1/webhooks', { url, secret });
    t.like(reply, { status: 422, body: { error: { details: [{ loc: ['body', 'secret'], msg: webhookSecretRule }] } } });
  }
  for (const secret of [24, 25, 26, 62, 63, 64].map(secretOf)) {
    const { webhook_id: id }: Webhook = await data(t, 'createWebhook', send('POST', '/v1/webhooks', { url, secret }));
    await data(t, 'deleteWebhook', send('DELETE', at(id)));
  }
  const run = { messages: [user('hello')], webhook: { url: 'file:///etc/passwd' } };
  for (const path of ['/v1/graph/invoke', '/v1/runs'])
    t.deepEqual(await refused(t, send('POST', path, run), 422, 'VALIDATION_ERROR'), [['body', 'webhook', 'url']]);
});

test.serial('the ends of runs are sent to the webhook of the owner and to that of the run', async (t) => {
  await using all = await openReceiver();
  await using one = await openReceiver();
  const { webhook_id: id }: Webhook = await data(t, 'createWebhook', send('POST', '/v1/webhooks', { url: all.url }));
  const { secret }: { readonly secret: string } = await data(t, 'getWebhookSecret', send('GET', at(id, '/secret')));
  const { meta }: { readonly meta: { readonly run_id: string } } = await data(
    t,
    'invokeGraph',
    send('POST', '/v1/graph/invoke', { messages: [user('hello')], webhook: { url: one.url } }),
  );
  await until(() => all.got.length === 1 && one.got.length === 1);
  const event = new Verifier(secret).verify(all.got[0]?.body ?? '', all.got[0]?.headers as Record<string, string>);
  t.like(event, { type: 'run.completed', data: { run_id: meta.run_id, result: { meta: { run_id: meta.run_id } } } });
  t.is(one.got[0]?.headers['webhook-signature'], undefined);
  await send('POST', '/v1/graph/invoke', { messages: [user('fail')] });
  await until(() => all.got.length === 2);
  t.like(JSON.parse(all.got[1]?.body ?? ''), { type: 'run.failed', data: { error: { code: 'NODE_ERROR' } } });
  t.is(one.got.length, 1);
  await data(t, 'deleteWebhook', send('DELETE', at(id)));
});

test.serial('a test that fails is listed, sent again when asked, and given up when asked', async (t) => {
  let status = 500;
  await using receiver = await openReceiver((_, response) => void response.writeHead(status).end());
  const { webhook_id: id }: Webhook = await data(
    t,
    'createWebhook',
    send('POST', '/v1/webhooks', { url: receiver.url }),
  );
  const key = { 'idempotency-key': 'test-1' };
  const sent: { readonly delivery_id: string } = await data(t, 'testWebhook', send('POST', at(id, '/test'), {}, key));
  t.deepEqual(await data(t, 'testWebhook', send('POST', at(id, '/test'), {}, key)), sent as never);
  await until(async () => (await deliveriesOf(id))[0]?.attempts === 1);
  const [failed, ...others] = await deliveriesOf(id);
  t.like(failed, { ...sent, state: 'pending', last_status: 500, event: 'webhook.test' });
  t.deepEqual(others, []);
  status = 204;
  await data(t, 'resendDelivery', send('POST', `/v1/deliveries/${sent.delivery_id}/resend`, {}));
  await until(async () => (await deliveriesOf(id)).length === 0);
  t.deepEqual(new Set(receiver.got.map((got) => got.id)), new Set([sent.delivery_id]));
  t.is(new Set(receiver.got.map(({ body }) => body)).size, 1);
  status = 500;
  const second: { readonly delivery_id: string } = await data(t, 'testWebhook', send('POST', at(id, '/test'), {}));
  await until(async () => (await deliveriesOf(id))[0]?.attempts === 1);
  await data(t, 'deleteDelivery', send('DELETE', `/v1/deliveries/${second.delivery_id}`));
  await refused(t, send('POST', `/v1/deliveries/${second.delivery_id}/resend`, {}), 404, 'RESOURCE_NOT_FOUND');
  t.deepEqual(await deliveriesOf(id), []);
  await data(t, 'deleteWebhook', send('DELETE', at(id)));
});

test.serial(
  'a schedule shows no secret of the webhook of its runs, and keeps it when it is sent back as it was shown',
  async (t) => {
    await using receiver = await openReceiver();
    const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
    const run = { messages: [user('hello')], webhook: { url: receiver.url, secret } };
    const made: { readonly schedule_id: string; readonly run: object } = await data(
      t,
      'createSchedule',
      send('POST', '/v1/schedules', { every_seconds: 3600, run }),
    );
    const path = `/v1/schedules/${made.schedule_id}`;
    await data(t, 'updateSchedule', send('PATCH', path, { run: made.run }));
    for (const shown of [
      made,
      await data(t, 'getSchedule', send('GET', path)),
      await data(t, 'listSchedules', send('GET', '/v1/schedules')),
    ])
      t.false(JSON.stringify(shown).includes('whsec_'));
    t.is((await send('POST', `${path}/run`, {})).status, 202);
    await until(() => receiver.got.length === 1);
    const [got] = receiver.got;
    t.like(new Verifier(secret).verify(got?.body ?? '', got?.headers as Record<string, string>), {
      type: 'run.completed',
    });
    await data(t, 'deleteSchedule', send('DELETE', path));
  },
);

test.serial('changes at the same time all count', async (t) => {
  const made: Webhook = await data(t, 'createWebhook', send('POST', '/v1/webhooks', { url: 'https://example.com' }));
  const changes = await Promise.all(
    Array.from({ length: 12 }, (_, index) => send('PATCH', at(made.webhook_id), { description: String(index) })),
  );
  t.deepEqual(new Set(changes.map(({ status }) => status)), new Set([200]));
  await data(t, 'deleteWebhook', send('DELETE', at(made.webhook_id)));
});

test.serial('an owner has twenty webhooks and no more', async (t) => {
  const url = 'https://example.com/hook';
  const made = await Promise.all(Array.from({ length: 20 }, () => send('POST', '/v1/webhooks', { url })));
  t.true(made.every(({ status }) => status === 200));
  await refused(t, send('POST', '/v1/webhooks', { url }), 409, 'CONFLICT');
  const { webhooks }: { readonly webhooks: readonly Webhook[] } = await data(
    t,
    'listWebhooks',
    send('GET', '/v1/webhooks'),
  );
  const listed = new Set(webhooks.map(({ webhook_id: id }) => id));
  for (const { body } of made) t.true(listed.has((body.data as Webhook).webhook_id));
  for (const { webhook_id: id } of webhooks) await send('DELETE', at(id));
});
