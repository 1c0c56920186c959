import { textOf, type Message } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { useSeveralAgents } from '../../session/agents.ts';
import type { Typed } from '../../session/drafts.ts';
import { useLoaded } from '../../session/loaded.ts';
import { go, toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { CalmText } from '../../ui/calm-text.tsx';
import { Blank } from '../../ui/patterns/blank.tsx';
import { DetailPane } from '../../ui/patterns/detail-pane.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import type { Answer } from '../../ui/questions/answer.ts';
import { QuestionForm } from '../../ui/questions/question-form.tsx';
import { useTitle } from '../../ui/title.ts';
import { answer, answerLater, isAnswered } from './answering.ts';
import type { Waiting } from './waiting.ts';

interface InboxPaneProps {
  readonly id: string;
  /** What waits in the thread; absent when nothing does, or it is not read yet. */
  readonly waiting: Waiting | undefined;
  readonly isLoading: boolean;
}

/** What led to a question, and the form that answers it. */
export function InboxPane({ id, waiting, isLoading }: InboxPaneProps) {
  const title = waiting?.threadTitle ?? waiting?.title;
  const hasSeveral = useSeveralAgents().length > 0;
  useTitle(title ?? 'Inbox');
  const answers = useSignal<Typed<Answer>>({});
  if (waiting === undefined || isAnswered(waiting)) return isLoading ? <Skeleton rows={6} /> : <NothingWaits id={id} />;
  const leave = (): void => go({ view: 'inbox' });
  return (
    <DetailPane
      label="Question"
      crumb="Inbox"
      backHref={toHash({ view: 'inbox' })}
      id={id}
      title={title}
      facts={
        <>
          {hasSeveral && waiting.agent !== null && <span>{waiting.agent}</span>}
          {waiting.others && <ForWhom {...waiting.others} />}
          <span>
            asked <RelativeTime at={waiting.since} isInSentence />
          </span>
        </>
      }
      actions={
        waiting.others ? undefined : (
          <>
            <a class="button button-quiet" href={toHash({ view: 'chat', id })}>
              Open in chat
            </a>
            {waiting.runId !== null && (
              <a class="button button-quiet" href={toHash({ view: 'runs', id: waiting.runId })}>
                Open the run
              </a>
            )}
          </>
        )
      }
    >
      {!waiting.others && <LedTo id={id} agent={waiting.agent} />}
      <QuestionForm
        questions={waiting.questions}
        answers={answers}
        send={async (read, choice) => {
          const resume = await read();
          if (!resume) return;
          if (choice?.kind === 'reject') void answerLater([[waiting, resume]], `Rejected: ${waiting.title}`);
          else await answer(waiting, resume);
          leave();
        }}
      />
    </DetailPane>
  );
}

/** For whom another owner's run asks, and how many answers it takes. */
const ForWhom = ({ askedFor, answers, quorum }: NonNullable<Waiting['others']>) => (
  <>
    {askedFor !== null && <span dir="auto">for {askedFor}</span>}
    {quorum > 1 && <span>{`${String(answers)} of ${String(quorum)} answers`}</span>}
  </>
);

const NothingWaits = ({ id }: { readonly id: string }) => (
  <Blank
    title="Nothing waits here any more"
    text="The question is answered, or its run went on without an answer."
    action={
      <a class="button" href={toHash({ view: 'chat', id })}>
        Open the chat
      </a>
    }
  />
);

/** So many of the newest messages tell what led to a question. */
const messagesShown = 4;

/** More characters of a message are not shown here. */
const maxText = 1500;

const speakers: Readonly<Record<Message['role'], string>> = {
  user: 'User',
  assistant: 'Agent',
  system: 'System',
  tool: 'Tool',
};

/** The newest messages of the thread, the oldest of them first. */
function LedTo({ id, agent }: { readonly id: string; readonly agent: string | null }) {
  const { state, again } = useLoaded(
    async (signal) => {
      const query = { limit: messagesShown, order: 'desc' } as const;
      return (await client.threads.messages(id, query, { signal })).messages.toReversed();
    },
    [id],
  );
  const { value, error, isLoading } = state.value;
  const spoken = (value ?? []).filter((message) => textOf(message) !== '');
  return (
    <section aria-label="What led to it">
      <h2>What led to it</h2>
      {error !== undefined && <Failure error={error} retry={again} />}
      {value === undefined && isLoading && <Skeleton rows={3} />}
      <dl class="led-to">
        {spoken.map((message) => (
          <div key={message.message_id}>
            <dt>
              {message.role === 'assistant' && agent !== null && agent !== 'default' ? agent : speakers[message.role]}
            </dt>
            <dd dir="auto">
              <CalmText text={textOf(message).slice(0, maxText)} />
              {textOf(message).length > maxText && ' …'}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
