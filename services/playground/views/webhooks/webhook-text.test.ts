import type { Delivery } from '@agent-workflow/client';
import test from 'ava';
import { deliveryTitle, deliveryWhy, eventsText, webhookTitle } from './webhook-text.ts';

const url = 'https://shop.example/hooks/runs';

test('a webhook is called by its description, else by its address', (t) => {
  t.is(webhookTitle({ description: 'The shop', url }), 'The shop');
  t.is(webhookTitle({ description: ' ', url }), 'shop.example/hooks/runs');
  t.is(webhookTitle({ description: null, url }), 'shop.example/hooks/runs');
});

test('no events and all events are the same', (t) => {
  t.is(eventsText([]), 'every end');
  t.is(eventsText(['run.stopped', 'run.interrupted', 'run.failed', 'run.completed']), 'every end');
  t.is(eventsText(['run.failed', 'run.stopped']), 'failed, stopped');
});

test('a delivery says what it brings, and why it was not taken', (t) => {
  const delivery: Delivery = {
    ...{ delivery_id: 'd', webhook_id: 'w', state: 'pending', event: 'run.failed', run_id: null, thread_id: null },
    ...{ attempts: 0, last_status: null, last_failure: null, next_attempt_at: null, created_at: '' },
  };
  t.is(deliveryTitle(delivery), 'A run failed');
  t.is(deliveryTitle({ event: 'webhook.test' }), 'A test');
  t.is(deliveryWhy(delivery), 'not tried yet');
  t.is(deliveryWhy({ ...delivery, attempts: 2, last_status: 503 }), 'answered 503');
  t.is(deliveryWhy({ ...delivery, attempts: 2, last_failure: 'the name is not known' }), 'the name is not known');
});
