import test from 'ava';
import { agentOfAssistant, assistantIdOf } from './assistant-id.ts';

test('the own assistant of an agent has the id that LangGraph Server gives it', (t) => {
  t.is(assistantIdOf('agent'), 'fe096781-5601-53d2-b2f6-0d3403f7e9ca');
  t.is(assistantIdOf('agent'), assistantIdOf('agent'));
  t.not(assistantIdOf('agent'), assistantIdOf('Agent'));
});

test('an agent is found by its name and by the id of its own assistant', (t) => {
  const agents = ['agent', 'office'];
  t.is(agentOfAssistant('office', agents), 'office');
  t.is(agentOfAssistant(assistantIdOf('office'), agents), 'office');
  t.is(agentOfAssistant(assistantIdOf('office').toUpperCase(), agents), 'office');
  t.is(agentOfAssistant('nobody', agents), undefined);
});
