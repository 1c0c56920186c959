import type { Delivery } from '@agent-workflow/client';
import { useAction } from '../../session/action.ts';
import { usePages } from '../../session/pages.ts';
import { useRefresh } from '../../session/refresh.ts';
import { toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { counted } from '../../ui/format.ts';
import { LoadMore } from '../../ui/load-more.tsx';
import { Blank } from '../../ui/patterns/blank.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';
import { Row } from '../../ui/patterns/row.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { RawOnFault } from '../../ui/patterns/raw-on-fault.tsx';
import { toast } from '../../ui/toasts.tsx';
import { deliveryTitle, deliveryWhy } from './webhook-text.ts';

const pageSize = 100;

/** How often the list is read again, in milliseconds. */
const refreshMs = 5000;

interface DeliveriesProps {
  readonly state: Delivery['state'];
  /** The webhook whose deliveries are listed; all, and those of runs, without it. */
  readonly webhookId?: string;
}

/** What waits to be sent, or what is given up, the newest first; each can be sent again. */
export function Deliveries({ state, webhookId }: DeliveriesProps) {
  const deliveries = usePages(
    async (cursor, signal) => {
      const page = await client.deliveries.list(
        { state, limit: pageSize, ...(cursor !== undefined && { cursor }) },
        { signal },
      );
      return { items: page.deliveries, cursor: page.cursor };
    },
    [state],
  );
  useRefresh(() => {
    if (deliveries.state.peek().items.length <= pageSize) deliveries.again();
  }, refreshMs);
  const { items, cursor, isLoading, error } = deliveries.state.value;
  const listed = items.filter((each) => webhookId === undefined || each.webhook_id === webhookId);
  const resendAll = useAction<[]>(async (signal) => {
    for (const { delivery_id: id } of listed) await client.deliveries.resend(id, { signal });
    toast({ text: `${counted(listed.length, 'event')} ${listed.length === 1 ? 'is' : 'are'} sent again.` });
    deliveries.again();
  });
  return (
    <>
      {state === 'dead' && listed.length > 1 && (
        <div class="row">
          <button type="button" disabled={resendAll.isBusy.value} onClick={() => resendAll.start()}>
            Send all {listed.length} again
          </button>
        </div>
      )}
      {resendAll.error.value !== undefined && <Failure error={resendAll.error.value} />}
      {items.length === 0 && isLoading && <Skeleton rows={4} />}
      {error !== undefined && <Failure error={error} retry={deliveries.again} />}
      {listed.length === 0 && !isLoading && error === undefined && (
        <NothingLeft state={state} isWhole={cursor === undefined} />
      )}
      <ul class="plain rows">
        {listed.map((delivery) => (
          <li key={delivery.delivery_id}>
            <RawOnFault raw={delivery}>
              <DeliveryRow
                delivery={delivery}
                onGone={() => deliveries.edit((all) => all.filter((each) => each !== delivery))}
              />
            </RawOnFault>
          </li>
        ))}
      </ul>
      {cursor !== undefined && (
        <LoadMore pages={deliveries.state.value} thing="event" more={deliveries.more} again={deliveries.again} />
      )}
    </>
  );
}

function NothingLeft({ state, isWhole }: { readonly state: Delivery['state']; readonly isWhole: boolean }) {
  if (!isWhole) return <p class="hint">None among the newest ones. Load more to look further back.</p>;
  return state === 'dead' ? (
    <Blank
      title="No dead letter"
      text="An event is dead when nobody has taken it for three days, or when 410 was answered."
    />
  ) : (
    <Blank
      title="Nothing waits"
      text="What is taken at the first attempt is not listed. What is not taken waits here."
    />
  );
}

interface DeliveryRowProps {
  readonly delivery: Delivery;
  /** Called when it is in this list no more. */
  readonly onGone: () => void;
}

function DeliveryRow({ delivery, onGone }: DeliveryRowProps) {
  const { delivery_id: id, state, run_id: runId, attempts, next_attempt_at: nextAt, created_at: at } = delivery;
  const resend = useAction<[]>(async (signal) => {
    await client.deliveries.resend(id, { signal });
    toast({ text: 'The event is sent again.' });
    if (state === 'dead') onGone();
  });
  const drop = useAction<[]>(async (signal) => {
    await client.deliveries.delete(id, { signal });
    toast({ text: 'The event is given up.' });
    onGone();
  });
  const failed = [resend, drop].find(({ error }) => error.value !== undefined);
  return (
    <>
      <div class="delivery">
        <Row
          href={runId === null ? undefined : toHash({ view: 'runs', id: runId })}
          status={state === 'dead' ? 'dead' : attempts > 0 ? 'retrying' : 'pending'}
          title={deliveryTitle(delivery)}
          why={deliveryWhy(delivery)}
          facts={[
            delivery.url,
            attempts > 0 && counted(attempts, 'attempt'),
            nextAt !== null && (
              <>
                next <RelativeTime at={nextAt} />
              </>
            ),
          ].filter(Boolean)}
          time={<RelativeTime at={at} />}
        />
        <button type="button" disabled={resend.isBusy.value} onClick={() => resend.start()}>
          Send again
        </button>
        <button type="button" class="button-quiet" disabled={drop.isBusy.value} onClick={() => drop.start()}>
          Give up
        </button>
      </div>
      {failed && <Failure error={failed.error.value} />}
    </>
  );
}
