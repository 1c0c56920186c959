import type { RunCounts } from '@agent-workflow/client';
import { toHash } from '../../session/route.ts';
import { dayOf } from '../../ui/day-groups.ts';
import { counted, duration, grouped, percent } from '../../ui/format.ts';
import { calendarDay } from '../../ui/time-text.ts';
import { dayBars, type DayBar } from './day-bars.ts';
import { rangeOf, selectionOf } from './run-selection.ts';

interface RunChartProps {
  readonly counts: RunCounts;
  /** The selection of the address. */
  readonly query: Readonly<Record<string, string>>;
  /** The first moment that was asked for, and now, in milliseconds since 1970. */
  readonly from: number;
  readonly now: number;
}

/** Runs by day and status: what went wrong stands on the ground. A day leads to its runs. */
export function RunChart({ counts, query, from, now }: RunChartProps) {
  const end = Math.min(now, (rangeOf(query, now).to ?? Infinity) - 1);
  const bars = dayBars(counts, dayOf(from), dayOf(end));
  if (bars.length < 2) return <Summary counts={counts} days={bars.length} />;
  return (
    <figure class="run-chart">
      <figcaption>
        <Summary counts={counts} days={bars.length} />
        <DayTable bars={bars} query={query} />
      </figcaption>
      <div class="run-chart-plot">
        <svg
          viewBox={`0 0 ${String(bars.length)} 100`}
          preserveAspectRatio="none"
          role="img"
          aria-label={labelOf(bars)}
        >
          {bars.map((bar, index) => (
            <Bar key={bar.day} bar={bar} index={index} href={hrefOf(bar, query)} />
          ))}
        </svg>
        <div class="run-chart-days" aria-hidden="true">
          {bars.map(({ day }, index) => (
            <span key={day}>{isNamed(index, bars.length) ? Number(day.slice(8)) : ''}</span>
          ))}
        </div>
      </div>
    </figure>
  );
}

/** Of the width of a day, so much is left free on each side. */
const margin = 0.14;

function Bar({ bar, index, href }: { readonly bar: DayBar; readonly index: number; readonly href: string }) {
  const open = (): void => {
    location.hash = href;
  };
  return (
    <g class="run-bar" onClick={open}>
      <title>{textOf(bar)}</title>
      <rect class="run-bar-ground" x={index} y="0" width="1" height="100" />
      {bar.parts.map(({ tone, from, size }) => (
        <rect
          key={tone}
          class={`bar-${tone}`}
          x={index + margin}
          y={100 - from - size}
          width={1 - 2 * margin}
          height={size}
        />
      ))}
    </g>
  );
}

/** Days that are named below the chart: so many that their numbers do not touch. */
const namedDays = 16;

const isNamed = (index: number, count: number): boolean => (count - 1 - index) % Math.ceil(count / namedDays) === 0;

/** The chart as a table, whose days are links: what the keyboard and a screen reader have of it. */
function DayTable({ bars, query }: { readonly bars: readonly DayBar[]; readonly query: RunChartProps['query'] }) {
  return (
    <details class="run-chart-table">
      <summary>As a table</summary>
      <div class="scrolled" tabIndex={0} role="region" aria-label="Runs by day">
        <table>
          <thead>
            <tr>
              <th scope="col">Day</th>
              <th scope="col">Runs</th>
              <th scope="col">Failed</th>
            </tr>
          </thead>
          <tbody>
            {bars.toReversed().map((bar) => (
              <tr key={bar.day}>
                <th scope="row">
                  <a href={hrefOf(bar, query)}>{nameOf(bar)}</a>
                </th>
                <td>{grouped(bar.total)}</td>
                <td>{grouped(bar.failed)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

/** The runs of one day, of the same selection. */
function hrefOf({ day }: DayBar, query: RunChartProps['query']): string {
  const { days: _, ...rest } = selectionOf(query);
  return toHash({ view: 'runs', query: { ...rest, from: day, to: day } });
}

const nameOf = ({ day }: DayBar): string => calendarDay(Date.parse(day));

const textOf = (bar: DayBar): string =>
  `${nameOf(bar)}: ${counted(bar.total, 'run')}${bar.failed > 0 ? `, ${grouped(bar.failed)} failed` : ''}`;

function labelOf(bars: readonly DayBar[]): string {
  const [first] = bars;
  const last = bars.at(-1);
  const most = bars.reduce<DayBar | undefined>(
    (best, bar) => (best && best.total >= bar.total ? best : bar),
    undefined,
  );
  if (!first || !last || !most) return 'Runs a day';
  const busiest = most.total === 0 ? 'No run.' : `Most: ${textOf(most)}.`;
  return `Runs a day, ${nameOf(first)} to ${nameOf(last)}. ${busiest}`;
}

function Summary({ counts, days }: { readonly counts: RunCounts; readonly days: number }) {
  const { total, counts: numbers, duration_ms: took, at_least: isPart } = counts;
  const { failed = 0, interrupted: waiting = 0 } = numbers;
  return (
    <div class="run-summary">
      <span>
        <b>{isPart ? `${grouped(total)}+` : grouped(total)}</b> {total === 1 ? 'run' : 'runs'}
        {days > 0 && ` in ${counted(days, 'day')}`}
      </span>
      {failed > 0 && (
        <span class="tone-failed">
          <b>{grouped(failed)}</b> failed, {percent(failed / total)}
        </span>
      )}
      {waiting > 0 && (
        <span class="tone-waiting">
          <b>{grouped(waiting)}</b> asked a person
        </span>
      )}
      {took && (
        <span title="Half of the runs that have ended took no longer, and 95 of 100">
          <b>{duration(took.median)}</b> median, <b>{duration(took.p95)}</b> p95
        </span>
      )}
    </div>
  );
}
