import { signal } from '@preact/signals';
import { serviceNow } from './clock.ts';

/** How often times in sight are written anew, in milliseconds. */
const tickMs = 15_000;

/** The time by the service's clock, in milliseconds since 1970, as it was at the last tick: one timer for all times in sight. */
export const tickedNow = signal(serviceNow());

setInterval(() => {
  tickedNow.value = serviceNow();
}, tickMs);
