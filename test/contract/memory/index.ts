import type { TestFn } from 'ava';
import { changingTests } from './changing.ts';
import type { Opener } from './checks.ts';
import { filterTests } from './filters.ts';
import { forgettingTests } from './forgetting.ts';
import { listingTests } from './listing.ts';
import { refusalTests } from './refusals.ts';
import { repeatTests } from './repeats.ts';
import { resultTests } from './results.ts';
import { scopeTests } from './scopes.ts';
import { similarityTests } from './similarity.ts';
import { storingTests } from './storing.ts';
import { strategyTests } from './strategies.ts';

/** What any memory service must do, in process and over the wire. */
export function memoryContract(test: TestFn, name: string, open: Opener): void {
  storingTests(test, name, open);
  changingTests(test, name, open);
  repeatTests(test, name, open);
  listingTests(test, name, open);
  forgettingTests(test, name, open);
  similarityTests(test, name, open);
  strategyTests(test, name, open);
  filterTests(test, name, open);
  resultTests(test, name, open);
  refusalTests(test, name, open);
  scopeTests(test, name, open);
}
