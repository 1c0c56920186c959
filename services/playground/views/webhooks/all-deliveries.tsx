import type { Delivery } from '@agent-workflow/client';
import { go, route, toHash } from '../../session/route.ts';
import { DetailPane } from '../../ui/patterns/detail-pane.tsx';
import { useTitle } from '../../ui/title.ts';
import { Deliveries } from './deliveries.tsx';
import { deliveryTabs, stateOf } from './delivery-tabs.ts';

/** What no address has taken, of every webhook and of those that runs name themselves. */
export function AllDeliveries() {
  useTitle('Events that were not taken');
  const { id, query } = route.value;
  const state: Delivery['state'] = stateOf(query);
  return (
    <DetailPane
      label="Events"
      crumb="Webhooks"
      backHref={toHash({ view: 'webhooks' })}
      title="All that was not taken"
      tabs={{
        label: 'Events',
        tabs: deliveryTabs,
        selected: state,
        onSelect: (to) =>
          go({ view: 'webhooks', ...(id !== undefined && { id }), query: { state: to } }, { replace: true }),
      }}
    >
      <Deliveries key={state} state={state} />
    </DetailPane>
  );
}
