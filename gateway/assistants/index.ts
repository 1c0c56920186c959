export {
  assistantOf,
  createAssistant,
  deleteAssistant,
  getAssistant,
  getAssistantVersion,
  listAssistants,
  listAssistantVersions,
  setAssistantVersion,
  updateAssistant,
  type Assistant,
  type AssistantContent,
  type AssistantVersion,
} from './assistants.ts';
