import { useSeveralAgents } from '../../session/agents.ts';
import { tickedNow } from '../../session/minute.ts';
import { toHash } from '../../session/route.ts';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';
import { Row } from '../../ui/patterns/row.tsx';
import { timeLeft } from '../../ui/questions/time-left.ts';
import type { Waiting } from './waiting.ts';

interface InboxRowProps {
  readonly waiting: Waiting;
  readonly isOpen: boolean;
  readonly isChosen: boolean;
  readonly onChoose: (isChosen: boolean) => void;
}

/** What is asked, by whom, for how long it can still be answered, and since when it waits. */
export function InboxRow({ waiting, isOpen, isChosen, onChoose }: InboxRowProps) {
  const { id, title, threadTitle, since, due, others } = waiting;
  const forWhom = others?.askedFor ? `for ${others.askedFor}` : null;
  const count = others && others.quorum > 1 ? `${String(others.answers)} of ${String(others.quorum)} answers` : null;
  const agent = useSeveralAgents().length > 0 ? waiting.agent : null;
  const left = due === Infinity ? undefined : timeLeft(new Date(due).toISOString(), tickedNow.value);
  const asked = (
    <>
      asked <RelativeTime at={since} isInSentence />
    </>
  );
  return (
    <Row
      href={toHash({ view: 'inbox', id })}
      status="waiting"
      title={title}
      facts={[
        ...[agent, forWhom, count, threadTitle].filter((fact) => typeof fact === 'string'),
        ...(left ? [asked] : []),
      ]}
      time={left ? <span class={left.isSoon ? 'is-soon' : undefined}>{left.text}</span> : <RelativeTime at={since} />}
      isSelected={isOpen}
      choice={{ label: `Choose “${title}”`, isChosen, onChange: onChoose }}
    />
  );
}
