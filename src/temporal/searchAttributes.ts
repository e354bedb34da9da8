import type { OperatorService } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { SEARCH_ATTRIBUTES } from '../deliveries/searchAttributes';

const { INDEXED_VALUE_TYPE_KEYWORD, INDEXED_VALUE_TYPE_KEYWORD_LIST } = temporal.api.enums.v1.IndexedValueType;

/** Each with its type as the API and as the commands call it. */
const WANTED = [
  { name: SEARCH_ATTRIBUTES.eventType.name, indexed: INDEXED_VALUE_TYPE_KEYWORD, type: 'Keyword' },
  { name: SEARCH_ATTRIBUTES.aggregateId.name, indexed: INDEXED_VALUE_TYPE_KEYWORD, type: 'Keyword' },
  { name: SEARCH_ATTRIBUTES.handler.name, indexed: INDEXED_VALUE_TYPE_KEYWORD_LIST, type: 'KeywordList' },
];

export type Registration =
  | { readonly kind: 'there' | 'registered' }
  /** Temporal does not have them registered by us, as a managed one: whether they are there is not known. */
  | { readonly kind: 'refused'; readonly reason: string };

/**
 * Registers the search attributes of delivery runs where the server allows it. Without them everything works; only the
 * filters of the Temporal UI are missed. Never rejects.
 */
export async function registerSearchAttributes(service: OperatorService, namespace: string): Promise<Registration> {
  try {
    const before = await missingSearchAttributes(service, namespace);
    if (before.length === 0) return { kind: 'there' };
    const searchAttributes = Object.fromEntries(before.map(({ name, indexed }) => [name, indexed]));
    await service.addSearchAttributes({ namespace, searchAttributes });
    const [wrong] = await missingSearchAttributes(service, namespace);
    if (!wrong) return { kind: 'registered' };
    return { kind: 'refused', reason: `${wrong.name} is not of type ${wrong.type} there` };
  } catch (error) {
    const { details, message } = error as Error & { details?: string };
    return { kind: 'refused', reason: details || message };
  }
}

/** Those that are not registered; of another type, a start that names them is refused like one that names unknown ones. */
export async function missingSearchAttributes(service: OperatorService, namespace: string): Promise<typeof WANTED> {
  const { customAttributes } = await service.listSearchAttributes({ namespace });
  return WANTED.filter(({ name, indexed }) => customAttributes?.[name] !== indexed);
}

/** What registers them by hand: on a server of one's own, and on Temporal Cloud. */
export function registerCommands(namespace: string): { readonly ownServer: string[]; readonly cloud: string } {
  return {
    ownServer: WANTED.map(
      ({ name, type }) =>
        `temporal operator search-attribute create --namespace ${namespace} --name ${name} --type ${type}`,
    ),
    cloud: [
      `tcld namespace search-attributes add --namespace ${namespace}`,
      ...WANTED.map(({ name, type }) => `--search-attribute ${name}=${type}`),
    ].join(' '),
  };
}
