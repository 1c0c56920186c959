import { go, route, toHash } from '../../../session/route.ts';

/** What of a run is shown. */
const runTabs = ['trace', 'graph', 'events'] as const;
export type RunTab = (typeof runTabs)[number];

/** Tabs of a span. */
export const spanTabs = ['input', 'output', 'diff', 'prompt', 'error'] as const;
export type SpanTab = (typeof spanTabs)[number];

/** What of a run an address names: who follows the link sees the same. */
export interface RunPlace {
  readonly show: RunTab;
  /** The chosen span, by its id. */
  readonly span?: string | undefined;
  readonly tab?: SpanTab | undefined;
  /** Whether a phone shows the span in place of the tree. */
  readonly isInside: boolean;
  /** Whether the events are those of the chosen span alone. */
  readonly isOfSpan: boolean;
  /** The run that this one is compared with. */
  readonly other?: string | undefined;
}

const oneOf = <T extends string>(known: readonly T[], given: string | undefined): T | undefined =>
  known.find((each) => each === given);

/** Reads the options of an address; what it does not know counts as absent. */
export function readPlace({
  show,
  span,
  tab,
  in: inside,
  of,
  with: other,
}: Readonly<Record<string, string>>): RunPlace {
  return {
    show: oneOf(runTabs, show) ?? 'trace',
    isInside: inside === 'span',
    isOfSpan: of === 'span',
    ...(span !== undefined && { span }),
    ...(other !== undefined && other !== '' && { other }),
    tab: oneOf(spanTabs, tab),
  };
}

function toQuery({ show, span, tab, isInside, isOfSpan, other }: RunPlace): Readonly<Record<string, string>> {
  return {
    ...(show !== 'trace' && { show }),
    ...(other !== undefined && { with: other }),
    ...(span !== undefined && { span }),
    ...(tab !== undefined && { tab }),
    ...(isInside && { in: 'span' }),
    ...(isOfSpan && show === 'events' && { of: 'span' }),
  };
}

/** Shows another place of the run that is open. Going into a span, and to another tab of the run, can be taken back by the back button. */
export function goTo(change: Partial<RunPlace>): void {
  const { view, id, query } = route.peek();
  const before = readPlace(query);
  const place = { ...before, ...change };
  const isStep = place.show !== before.show || (place.isInside && !before.isInside) || place.other !== before.other;
  go({ view, ...(id !== undefined && { id }), query: toQuery(place) }, { replace: !isStep });
}

/** The address of a place, to be given to others. */
export const linkTo = (id: string, place: RunPlace): string =>
  new URL(toHash({ view: 'runs', id, query: toQuery({ ...place, isInside: false }) }), location.href).href;
