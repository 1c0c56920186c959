import '../../styles/webhooks.css';
import type { Webhook } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { useKeys } from '../../session/keys.ts';
import { useLoaded } from '../../session/loaded.ts';
import { useRefresh } from '../../session/refresh.ts';
import { go, route, toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { grouped } from '../../ui/format.ts';
import { Icon } from '../../ui/icon.tsx';
import { Blank } from '../../ui/patterns/blank.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { ListPane } from '../../ui/patterns/list-pane.tsx';
import { Panes } from '../../ui/patterns/panes.tsx';
import { Row } from '../../ui/patterns/row.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { RawOnFault } from '../../ui/patterns/raw-on-fault.tsx';
import { useTitle } from '../../ui/title.ts';
import { AllDeliveries } from './all-deliveries.tsx';
import { WebhookForm } from './webhook-form.tsx';
import { WebhookPane } from './webhook-pane.tsx';
import { eventsText, webhookTitle } from './webhook-text.ts';

/** How often the list is read again, in milliseconds. */
const refreshMs = 10_000;

/** In place of an id: what no address has taken, of all webhooks and of those that runs name themselves. */
const allId = 'all';

/** The addresses to which the ends of runs are sent, beside the one that is open. */
export function WebhooksView() {
  const { id } = route.value;
  const isMaking = useSignal(false);
  const { state, again } = useLoaded(async (signal) => (await client.webhooks.list({ signal })).webhooks, []);
  useRefresh(again, refreshMs);
  const make = (): void => {
    isMaking.value = true;
  };
  useKeys([{ keys: '', text: 'New webhook', group: 'Webhooks', isAction: true, run: make }]);
  const { value: webhooks, error, isLoading } = state.value;
  return (
    <>
      <Panes
        hasDetail={id !== undefined}
        list={
          <ListPane
            title="Webhooks"
            count={webhooks !== undefined && webhooks.length > 0 && grouped(webhooks.length)}
            actions={
              webhooks !== undefined &&
              webhooks.length > 0 && (
                <button type="button" onClick={make}>
                  <Icon name="plus" />
                  New
                </button>
              )
            }
          >
            {webhooks === undefined && isLoading && <Skeleton rows={4} />}
            {error !== undefined && <Failure error={error} retry={again} />}
            {webhooks && <Rows webhooks={webhooks} openId={id} onNew={make} />}
          </ListPane>
        }
        detail={
          <RawOnFault key={id}>
            {id === undefined ? (
              <NoWebhook />
            ) : id === allId ? (
              <AllDeliveries />
            ) : (
              <WebhookPane id={id} onChanged={again} />
            )}
          </RawOnFault>
        }
      />
      {isMaking.value && (
        <WebhookForm
          onClose={() => {
            isMaking.value = false;
          }}
          onSaved={({ webhook_id: made }) => {
            again();
            go({ view: 'webhooks', id: made });
          }}
        />
      )}
    </>
  );
}

function NoWebhook() {
  useTitle('Webhooks');
  return <Blank title="No webhook is open" text="Choose one to see what it is sent, and what it has not taken." />;
}

interface RowsProps {
  readonly webhooks: readonly Webhook[];
  readonly openId: string | undefined;
  readonly onNew: () => void;
}

function Rows({ webhooks, openId, onNew }: RowsProps) {
  return (
    <>
      {webhooks.length === 0 && (
        <Blank
          title="No webhook yet"
          text="A webhook is an address of yours to which the service sends how runs end, so that nobody has to ask."
          action={
            <button type="button" class="button-first" onClick={onNew}>
              Add a webhook
            </button>
          }
          docs="/docs/webhooks"
        />
      )}
      <ul class="plain">
        {webhooks.map((webhook) => (
          <li key={webhook.webhook_id}>
            <RawOnFault raw={webhook}>
              <Row
                href={toHash({ view: 'webhooks', id: webhook.webhook_id })}
                status={webhook.enabled ? 'active' : webhook.disabled_because === undefined ? 'off' : 'failed'}
                title={webhookTitle(webhook)}
                why={webhook.disabled_because}
                facts={[eventsText(webhook.events)]}
                isSelected={webhook.webhook_id === openId}
              />
            </RawOnFault>
          </li>
        ))}
        <li class="apart-row">
          <Row
            href={toHash({ view: 'webhooks', id: allId })}
            title="All that was not taken"
            facts={['of every webhook, and of runs']}
            isSelected={openId === allId}
          />
        </li>
      </ul>
    </>
  );
}
