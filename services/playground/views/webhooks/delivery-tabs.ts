import type { Delivery } from '@agent-workflow/client';

/** The two lists of what was not taken. */
export const deliveryTabs = [
  { id: 'pending', title: 'Waiting' },
  { id: 'dead', title: 'Dead letters' },
] as const;

/** Which of the two the address names: what waits unless it says otherwise. */
export const stateOf = (query: Readonly<Record<string, string>>): Delivery['state'] =>
  query['state'] === 'dead' ? 'dead' : 'pending';
