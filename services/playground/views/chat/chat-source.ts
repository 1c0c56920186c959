import type { Client, Share } from '@agent-workflow/client';
import { createContext } from 'preact';
import { client, clientWith } from '../../session/session.ts';
import { sharedPath } from '../../session/shared-path.ts';

/** Where the thread of a chat is. */
export interface ChatSource {
  readonly client: Client;
  readonly view: 'chat' | 'shared';
  /** What the reader may do with the thread of another owner; absent: it is the reader's own. */
  readonly share?: Share;
}

/** The threads of the reader. */
export const ownThreads: ChatSource = { client, view: 'chat' };

/** A thread that another owner shares. Its id on the page is that of the share: the reader may have a thread of its own id. */
export const sharedThread = (share: Share): ChatSource => ({
  client: clientWith((path, init) => [sharedPath(path, share.share_id), init]),
  view: 'shared',
  share,
});

/** Reads the files of the messages that are shown. */
export const FileSource = createContext<Pick<Client, 'files'>>(client);
