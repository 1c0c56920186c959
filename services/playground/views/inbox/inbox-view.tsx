import '../../styles/inbox.css';
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { tickedNow } from '../../session/minute.ts';
import { usePages, type PagedList } from '../../session/pages.ts';
import { useRefresh } from '../../session/refresh.ts';
import { route } from '../../session/route.ts';
import { noteWaiting } from '../../session/waiting-count.ts';
import { readWaiting, waitingAtOnce } from '../../session/waiting-page.ts';
import { counted, grouped } from '../../ui/format.ts';
import { LoadMore } from '../../ui/load-more.tsx';
import { Blank } from '../../ui/patterns/blank.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { ListPane } from '../../ui/patterns/list-pane.tsx';
import { GroupHeading, Panes } from '../../ui/patterns/panes.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { RawOnFault } from '../../ui/patterns/raw-on-fault.tsx';
import { useTitle } from '../../ui/title.ts';
import { isAnswered } from './answering.ts';
import { ChosenBar } from './chosen-bar.tsx';
import { InboxPane } from './inbox-pane.tsx';
import { InboxRow } from './inbox-row.tsx';
import { groupsOf, toForeign, toWaiting, type Waiting } from './waiting.ts';

/** How often it is read again, in milliseconds. */
const refreshMs = 5000;

/** Everything that waits for a person, beside the question that is open. */
export function InboxView() {
  const { id } = route.value;
  const waiting = usePages(async (cursor, signal) => {
    const { own, foreign, cursor: next } = await readWaiting(cursor, signal);
    return { items: [...foreign.map(toForeign), ...own.map(toWaiting)], cursor: next };
  }, []);
  useRefresh(() => {
    if (waiting.state.peek().items.length <= waitingAtOnce) waiting.again();
  }, refreshMs);
  const open = waiting.state.value.items.find((each) => each.id === id);
  return (
    <Panes
      hasDetail={id !== undefined}
      isListWide
      list={<WaitingList waiting={waiting} openId={id} />}
      detail={
        <RawOnFault key={id} raw={open}>
          {id === undefined ? (
            <NothingOpen />
          ) : (
            <InboxPane key={id} id={id} waiting={open} isLoading={waiting.state.value.isLoading} />
          )}
        </RawOnFault>
      }
    />
  );
}

function NothingOpen() {
  useTitle('Inbox');
  return <Blank title="No question is open" text="Choose one to see what led to it, and to answer it." />;
}

interface WaitingListProps {
  readonly waiting: PagedList<Waiting>;
  readonly openId: string | undefined;
}

function WaitingList({ waiting, openId }: WaitingListProps) {
  const { items, cursor, isLoading, error } = waiting.state.value;
  const chosen = useSignal<ReadonlySet<string>>(new Set());
  const left = items.filter((each) => !isAnswered(each));
  const isWhole = !isLoading && error === undefined && cursor === undefined;
  useEffect(() => {
    if (isWhole) noteWaiting(left.length);
  }, [isWhole, left.length]);
  const groups = useMemo(() => groupsOf(left, tickedNow.value), [items, left.length, tickedNow.value]);
  const choose = (id: string, isChosen: boolean): void => {
    const others = [...chosen.peek()].filter((each) => each !== id);
    chosen.value = new Set(isChosen ? [...others, id] : others);
  };
  const isEmpty = left.length === 0 && isWhole;
  return (
    <ListPane
      title="Inbox"
      count={left.length > 0 && countText(left, cursor !== undefined)}
      footer={
        <ChosenBar
          chosen={left.filter(({ id }) => chosen.value.has(id))}
          onDone={() => {
            chosen.value = new Set();
          }}
        />
      }
    >
      {items.length === 0 && isLoading && <Skeleton rows={5} />}
      {error !== undefined && <Failure error={error} retry={waiting.again} />}
      {isEmpty && (
        <Blank
          title="Nothing waits for you"
          text="A question of an agent to a person stands here until it is answered: here, in its chat, or by the agent's own deadline."
          docs="/docs/interrupts"
        />
      )}
      {groups.map(({ title, items: inGroup }) => (
        <section key={title} aria-label={title}>
          <GroupHeading>{title}</GroupHeading>
          <ul class="plain">
            {inGroup.map((each) => (
              <li key={each.id}>
                <RawOnFault raw={each}>
                  <InboxRow
                    waiting={each}
                    isOpen={each.id === openId}
                    isChosen={chosen.value.has(each.id)}
                    onChoose={(isChosen) => choose(each.id, isChosen)}
                  />
                </RawOnFault>
              </li>
            ))}
          </ul>
        </section>
      ))}
      {cursor !== undefined && (
        <LoadMore pages={waiting.state.value} thing="question" more={waiting.more} again={waiting.again} />
      )}
    </ListPane>
  );
}

const countText = (left: readonly Waiting[], hasMore: boolean): string =>
  hasMore ? `${grouped(left.length)}+ wait` : counted(left.length, 'waits', 'wait');
