import type { TestFn } from 'ava';
import type { Opener } from './checks.ts';
import { deletingTests } from './deleting.ts';
import { failureTests } from './failures.ts';
import { followingTests } from './following.ts';
import { graphTests } from './graph-description.ts';
import { initialStateTests } from './initial-state.ts';
import { interruptTests } from './interrupts.ts';
import { limitTests } from './limits.ts';
import { nodeMemoryTests } from './node-memory.ts';
import { ownerTests } from './owners.ts';
import { queueingTests } from './queueing.ts';
import { remoteToolTests } from './remote-tools.ts';
import { replyTests } from './replies.ts';
import { serverToolTests } from './server-tools.ts';
import { shortenedContextTests } from './shortened-context.ts';
import { stateUpdateTests } from './state-updates.ts';
import { threadCacheTests } from './thread-cache.ts';

/** What the execution service promises, whatever is between it and its caller. */
export function executionContract(test: TestFn, name: string, open: Opener): void {
  replyTests(test, name, open);
  graphTests(test, name, open);
  ownerTests(test, name, open);
  queueingTests(test, name, open);
  threadCacheTests(test, name, open);
  followingTests(test, name, open);
  failureTests(test, name, open);
  limitTests(test, name, open);
  serverToolTests(test, name, open);
  interruptTests(test, name, open);
  remoteToolTests(test, name, open);
  initialStateTests(test, name, open);
  stateUpdateTests(test, name, open);
  nodeMemoryTests(test, name, open);
  deletingTests(test, name, open);
  shortenedContextTests(test, name, open);
}
