import type { Values } from '@agent-workflow/kit/env';
import type { Log } from '@agent-workflow/kit/log';
import type { ResourceCalls } from '@agent-workflow/protos/threads';
import type { executionSettings } from '../config.ts';
import { openDueSweep } from '../due-sweep.ts';
import type { EndParts } from '../events/publish-end.ts';
import { createDeliverer } from './deliver.ts';
import { createOutboxHandler } from './outbox.ts';
import { createMayReach } from './reachable.ts';

interface WebhooksOptions extends Pick<EndParts, 'known'> {
  readonly threads: EndParts['threads'] & ResourceCalls;
  readonly log: Log;
  readonly values: Pick<Values<typeof executionSettings>, 'WEBHOOK_HOSTS' | 'WEBHOOK_NETWORKS'>;
}

const handleMs = 30_000;

/** Makes deliveries of what the outbox holds and sends them, until disposed: attempts under way are ended, and made again by another process. */
export function openWebhooks({ values, ...parts }: WebhooksOptions): AsyncDisposable {
  const { threads, log } = parts;
  const opened = new AsyncDisposableStack();
  const mayReach = createMayReach(values.WEBHOOK_NETWORKS ?? []);
  const deliverer = opened.use(createDeliverer({ threads, log, mayReach, hosts: values.WEBHOOK_HOSTS }));
  const handle = createOutboxHandler({ ...parts, deliverer });
  const sweep = { threads, log, handleMs };
  opened.use(openDueSweep({ ...sweep, kind: 'delivery', handle: deliverer.handle }));
  opened.use(openDueSweep({ ...sweep, kind: 'outbox', handle }));
  return opened;
}
