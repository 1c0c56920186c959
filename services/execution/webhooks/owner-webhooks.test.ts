import test from 'ava';
import { within } from '@agent-workflow/protos/call';
import type { ListResourcesRequest, Resource } from '@agent-workflow/protos/threads';
import { toWebhookJson } from '@agent-workflow/protos/webhooks';
import { createListWebhooks } from './owner-webhooks.ts';

const owner = 'u:ada';
const webhook = { url: 'https://hooks.example.com', secret: 's', events: [], isEnabled: true };

const resource = (id: string, json: Uint8Array): Resource => ({
  ...{ kind: 'webhook', owner, id, version: 1, json },
  ...{ createdAt: 0, updatedAt: 0 },
});

/** A record of these webhooks, and what is asked of it and logged. */
function recordOf(resources: readonly Resource[]) {
  const asked: ListResourcesRequest[] = [];
  const logged: unknown[] = [];
  const list = createListWebhooks(
    {
      listResources: (request) => {
        asked.push(request);
        return Promise.resolve({ resources: resources.slice(0, request.limit) });
      },
    },
    { error: (about: unknown) => void logged.push(about) },
  );
  return { asked, logged, list: (after = 0) => list(owner, after, within(1000)) };
}

test('all webhooks of an owner are read, also those beyond how many there may be', async (t) => {
  const many = Array.from({ length: 30 }, (_, n) => resource(`w${String(n)}`, toWebhookJson(webhook)));
  const { list } = recordOf(many);
  t.is((await list()).length, 30);
});

test('a webhook that cannot be read is named in the log, once a minute, and holds up no other', async (t) => {
  const bad = ['null', '{', '{"isEnabled":true}', '{"url":1,"secret":"s","events":[]}'];
  const { list, logged } = recordOf([
    resource('first', toWebhookJson(webhook)),
    ...bad.map((json, n) => resource(`bad${String(n)}`, Buffer.from(json))),
    resource('last', toWebhookJson(webhook)),
  ]);
  for (let times = 0; times < 3; times++)
    t.deepEqual(
      (await list(performance.now())).map(({ id }) => id),
      ['first', 'last'],
    );
  t.deepEqual(
    logged.map((about) => (about as { webhook_id: string }).webhook_id),
    ['bad0', 'bad1', 'bad2', 'bad3'],
  );
});

test.serial('what was read a moment ago is not read again', async (t) => {
  const now = performance.now.bind(performance);
  performance.now = () => 1000;
  t.teardown(() => (performance.now = now));
  const { list, asked } = recordOf([]);
  await Promise.all([list(), list()]);
  await list();
  t.is(asked.length, 1);
  await list(1001);
  t.is(asked.length, 2);
});
