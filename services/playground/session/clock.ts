/** How far the service's clock is ahead of this one, in milliseconds, as far as is known. */
let aheadMs = 0;

/** The `Date` of a reply has whole seconds: a smaller difference is none. */
const doubtMs = 2000;

/** Notes the `Date` of a reply that has just come. */
export function noteDate(date: string | null, now: number = Date.now()): void {
  const ahead = Date.parse(date ?? '') + 500 - now;
  if (Number.isFinite(ahead)) aheadMs = Math.abs(ahead) < doubtMs ? 0 : ahead;
}

/** The time by the service's clock, in milliseconds since 1970: this computer's may be wrong. */
export const serviceNow = (): number => Date.now() + aheadMs;

/** A time of this computer's clock as the service's clock says it. */
export const toServiceTime = (at: number): number => at + aheadMs;
