import type { View } from '../session/route.ts';

/** A view as the navigation has it. */
export interface Place {
  readonly view: View;
  readonly title: string;
  /** The key that follows G. */
  readonly key: string;
  /** Whether the bar of a phone has it; the others are behind More. */
  readonly isFirst?: boolean;
  /** Whether a gap stands above it: places of one kind stand together. */
  readonly isApart?: boolean;
}

/** The views, in the order of the navigation. */
export const places: readonly Place[] = [
  { view: 'chat', title: 'Chat', key: 'c', isFirst: true },
  { view: 'inbox', title: 'Inbox', key: 'i', isFirst: true },
  { view: 'runs', title: 'Runs', key: 'r', isFirst: true },
  { view: 'threads', title: 'Threads', key: 't', isFirst: true },
  { view: 'memory', title: 'Memory', key: 'm', isApart: true },
  { view: 'files', title: 'Files', key: 'f' },
  { view: 'agents', title: 'Agents', key: 'a' },
  { view: 'schedules', title: 'Schedules', key: 's', isApart: true },
  { view: 'webhooks', title: 'Webhooks', key: 'w' },
];

export const titleOf = (view: View): string => places.find((place) => place.view === view)?.title ?? view;
