import type { Webhook } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { useAction } from '../../session/action.ts';
import { useLoaded } from '../../session/loaded.ts';
import { go, route, toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { DetailPane } from '../../ui/patterns/detail-pane.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { Menu } from '../../ui/patterns/menu.tsx';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { StatusDot } from '../../ui/patterns/status-dot.tsx';
import { useTitle } from '../../ui/title.ts';
import { toast } from '../../ui/toasts.tsx';
import { Deliveries } from './deliveries.tsx';
import { deliveryTabs, stateOf } from './delivery-tabs.ts';
import { SecretDialog } from './secret-dialog.tsx';
import { WebhookForm } from './webhook-form.tsx';
import { eventsText, webhookTitle } from './webhook-text.ts';

interface WebhookPaneProps {
  readonly id: string;
  /** Called when the list must be read again. */
  readonly onChanged: () => void;
}

/** One webhook: what it is sent, and what it has not taken. */
export function WebhookPane({ id, onChanged }: WebhookPaneProps) {
  const { state, again } = useLoaded((signal) => client.webhooks.get(id, { signal }), []);
  const { value: webhook, error, isLoading } = state.value;
  const title = webhook === undefined ? id : webhookTitle(webhook);
  useTitle(title);
  const listed = stateOf(route.value.query);
  const changed = (): void => {
    again();
    onChanged();
  };
  return (
    <DetailPane
      label="Webhook"
      crumb="Webhooks"
      backHref={toHash({ view: 'webhooks' })}
      id={id}
      title={title}
      facts={webhook && <Facts webhook={webhook} />}
      actions={webhook && <Actions webhook={webhook} onChanged={changed} />}
      {...(webhook && {
        tabs: {
          label: 'Events',
          tabs: deliveryTabs,
          selected: listed,
          onSelect: (to: string) => go({ view: 'webhooks', id, query: { state: to } }, { replace: true }),
        },
      })}
    >
      {error !== undefined && <Failure error={error} retry={again} />}
      {webhook === undefined && isLoading && <Skeleton rows={4} />}
      {webhook && <Deliveries key={listed} state={listed} webhookId={id} />}
    </DetailPane>
  );
}

function Facts({ webhook }: { readonly webhook: Webhook }) {
  const { url, enabled, events, disabled_because: reason, created_at: at } = webhook;
  return (
    <>
      <StatusDot
        status={enabled ? 'active' : reason === undefined ? 'off' : 'failed'}
        word={enabled ? 'on' : 'off'}
        hasWord
      />
      {reason !== undefined && <span class="tone-failed">{reason}</span>}
      <span>{eventsText(events)}</span>
      <code>{url}</code>
      <span>
        made <RelativeTime at={at} isInSentence />
      </span>
    </>
  );
}

interface ActionsProps {
  readonly webhook: Webhook;
  readonly onChanged: () => void;
}

/** Sends a test, and behind the dots all else that can be done with it. */
function Actions({ webhook, onChanged }: ActionsProps) {
  const { webhook_id: id, enabled } = webhook;
  const open = useSignal<'edit' | 'secret' | 'rotate' | 'delete' | undefined>(undefined);
  const close = (): void => {
    open.value = undefined;
  };
  const test = useAction<[]>(async (signal) => {
    await client.webhooks.test(id, { signal });
    toast({ text: 'A test is sent. It is listed here while it is not taken.' });
  });
  const turn = useAction<[]>(async (signal) => {
    await client.webhooks.update(id, { enabled: !enabled }, { signal });
    toast({ text: enabled ? 'Nothing is sent to it any more.' : 'It is sent how runs end again.' });
    onChanged();
  });
  const rotation = useAction<[]>(async (signal) => {
    await client.webhooks.rotate(id, { signal });
    toast({ text: 'It has a new secret. For a day requests are signed with both.' });
    open.value = 'secret';
  });
  const deletion = useAction<[]>(async (signal) => {
    await client.webhooks.delete(id, { signal });
    toast({ text: 'The webhook is deleted.' });
    onChanged();
    go({ view: 'webhooks' });
  });
  const failed = [test, turn].find(({ error }) => error.value !== undefined);
  return (
    <>
      <button type="button" disabled={test.isBusy.value} onClick={() => test.start()}>
        Send a test
      </button>
      <Menu
        label="More actions"
        items={[
          { text: 'Edit …', onSelect: () => void (open.value = 'edit') },
          { text: 'Show the secret …', onSelect: () => void (open.value = 'secret') },
          { text: 'Rotate the secret …', onSelect: () => void (open.value = 'rotate') },
          { text: enabled ? 'Turn off' : 'Turn on', onSelect: () => turn.start() },
          { text: 'Delete …', isDanger: true, onSelect: () => void (open.value = 'delete') },
        ]}
      />
      {failed && (
        <div class="failed-action">
          <Failure error={failed.error.value} />
        </div>
      )}
      {open.value === 'edit' && <WebhookForm webhook={webhook} onClose={close} onSaved={onChanged} />}
      {open.value === 'secret' && <SecretDialog id={id} onClose={close} />}
      {open.value === 'rotate' && (
        <Confirm title="Give it a new secret?" verb="Rotate the secret" action={rotation} onClose={close}>
          <p>
            For a day each request has two signatures, of the old and of the new one, so that the receiver can change
            over.
          </p>
        </Confirm>
      )}
      {open.value === 'delete' && (
        <Confirm title="Delete this webhook?" verb="Delete the webhook" action={deletion} onClose={close}>
          <p>
            <strong>{webhookTitle(webhook)}</strong> is sent nothing more, also not what waits for it.
          </p>
        </Confirm>
      )}
    </>
  );
}
