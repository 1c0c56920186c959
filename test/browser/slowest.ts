import type { Page } from 'playwright-core';

/** Milliseconds that the page took for what is done: the longest event from the reader's hand to the next paint. */
export async function slowest(page: Page, work: () => Promise<void>): Promise<number> {
  await page.evaluate(() => {
    const durations: number[] = [];
    Object.assign(globalThis, { durations });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) durations.push(duration);
    }).observe({ type: 'event', durationThreshold: 16 } as PerformanceObserverInit);
  });
  await work();
  return page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        requestAnimationFrame(() =>
          setTimeout(() => resolve(Math.max(0, ...(globalThis as unknown as { durations: number[] }).durations)), 100),
        );
      }),
  );
}
