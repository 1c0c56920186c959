import { isOperator, mayShare } from '../session/me.ts';
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
  /** Whether the reader has something there; absent: everybody. */
  readonly isFor?: () => boolean;
}

/** The views, in the order of the navigation. */
const all: readonly Place[] = [
  { view: 'chat', title: 'Chat', key: 'c', isFirst: true },
  { view: 'inbox', title: 'Inbox', key: 'i', isFirst: true },
  { view: 'runs', title: 'Runs', key: 'r', isFirst: true },
  { view: 'threads', title: 'Threads', key: 't', isFirst: true },
  { view: 'shared', title: 'Shared', key: 'h', isFor: mayShare },
  { view: 'memory', title: 'Memory', key: 'm', isApart: true },
  { view: 'files', title: 'Files', key: 'f' },
  { view: 'agents', title: 'Agents', key: 'a' },
  { view: 'schedules', title: 'Schedules', key: 's', isApart: true },
  { view: 'webhooks', title: 'Webhooks', key: 'w' },
  { view: 'operators', title: 'Operators', key: 'o', isApart: true, isFor: isOperator },
];

/** Those of the reader. A component that calls it is drawn again when it is known who that is. */
export const places = (): readonly Place[] => all.filter(({ isFor }) => isFor?.() ?? true);

export const titleOf = (view: View): string => all.find((place) => place.view === view)?.title ?? view;
