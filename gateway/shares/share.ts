import { ownerOf, userIdOf } from '@agent-workflow/kit/ids';
import type { Resource } from '@agent-workflow/protos/threads';
import type { Recipient, ShareRight } from '../access/rules.ts';
import { jsonText } from '../http/json.ts';

/** What an owner lets others do with one of their threads. Times are in milliseconds since 1970. */
export interface Share extends ShareContent {
  readonly id: string;
  /** Of the thread. */
  readonly owner: string;
  readonly createdAt: number;
}

/** What the record holds of a share beside its place. */
export interface ShareContent {
  readonly threadId: string;
  /** When the thread was created: another one that has its id later is not shared. */
  readonly threadCreatedAt: number;
  readonly to: Recipient;
  readonly rights: readonly ShareRight[];
  /** When it ends; absent: never. */
  readonly until?: number;
}

/** @throws SyntaxError for what is no share */
export const shareOf = ({ id, owner, json, createdAt }: Resource): Share => ({
  ...(JSON.parse(jsonText(json)) as ShareContent),
  ...{ id, owner, createdAt },
});

export interface ShareKey {
  readonly owner: string;
  readonly id: string;
}

/** The address of a share: two owners may have threads of one id, so it names the owner, too. */
export const toShareId = ({ owner, id }: ShareKey): string =>
  `${id}.${Buffer.from(userIdOf(owner) ?? '').toString('base64url')}`;

/** The share that an address names; `undefined` for a text that is none. */
export function fromShareId(text: string): ShareKey | undefined {
  const dot = text.indexOf('.');
  const user = Buffer.from(text.slice(dot + 1), 'base64url').toString('utf8');
  const key = { owner: ownerOf(user), id: text.slice(0, dot) };
  return dot > 0 && user !== '' && toShareId(key) === text ? key : undefined;
}
