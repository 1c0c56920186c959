import type { Item } from '../../../items/index.ts';
import { shownTime } from './shown-time.ts';

/** An item of the store as LangGraph's clients read it. */
export const toStoreItem = ({
  namespace,
  key,
  value,
  createdAt,
  updatedAt,
}: Item): Readonly<Record<string, unknown>> => ({
  namespace,
  key,
  value,
  created_at: shownTime(createdAt),
  updated_at: shownTime(updatedAt),
});
