import type { TestFn } from 'ava';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import type { Scale } from './threads-open.ts';

/** A store as the contract suites take it, set up in one way. */
export interface TestedStore {
  readonly name: string;
  /** Opens the store of a place; every place is empty at first. */
  readonly open: (place: string) => Promise<ThreadStore>;
  /** Opens an empty part, which nobody else has, of a store that many tests share. */
  readonly openPart: () => Promise<ThreadStore>;
  /** Whether a place still holds what was written when it is opened again. */
  readonly keeps: boolean;
  /** Whether old checkpoints and requests go by themselves; then nothing is asked to drop them. */
  readonly ages: boolean;
  /** How many random stories about the size of a thread are played on it. */
  readonly sizeStories: number;
  /** How much work the suite of the whole service gives it; absent where the same store, set up otherwise, does it. */
  readonly scale?: Scale;
}

/**
 * Runs `suite` for each way in which the store is set up. Where its server cannot be had, one test says so, which `REQUIRE_SERVERS=1`
 * makes fail.
 */
export type WithStore = (test: TestFn, suite: (store: TestedStore) => void) => void;
