import { temporal } from '@temporalio/proto';
import { SEARCH_ATTRIBUTES } from '../temporal/deliveryRuns';
import { ok, unknown, warning, type Check } from './finding';

const { INDEXED_VALUE_TYPE_KEYWORD, INDEXED_VALUE_TYPE_KEYWORD_LIST } = temporal.api.enums.v1.IndexedValueType;

const WANTED = [
  { name: SEARCH_ATTRIBUTES.eventType.name, indexed: INDEXED_VALUE_TYPE_KEYWORD, type: 'Keyword' },
  { name: SEARCH_ATTRIBUTES.aggregateId.name, indexed: INDEXED_VALUE_TYPE_KEYWORD, type: 'Keyword' },
  { name: SEARCH_ATTRIBUTES.handler.name, indexed: INDEXED_VALUE_TYPE_KEYWORD_LIST, type: 'KeywordList' },
];

/** Only the list filters of Temporal's web page need them. */
export const searchAttributes: Check = {
  name: 'search attributes',
  look: async (patient) => {
    const { client, namespace } = await patient.temporal();
    let known: Record<string, unknown>;
    try {
      const told = await client.connection.operatorService.listSearchAttributes({ namespace });
      known = told.customAttributes ?? {};
    } catch (error) {
      const reason = (error as { details?: string }).details ?? (error as Error).message;
      return [unknown(`Temporal does not tell which search attributes there are (${reason}).`, 'On Temporal Cloud: tcld namespace search-attributes add')]; // prettier-ignore
    }
    const missing = WANTED.filter(({ name, indexed }) => known[name] !== indexed);
    if (missing.length === 0) return [ok('The search attributes of delivery runs are registered.')];
    const options = missing.map(({ name, type }) => `--name ${name} --type ${type}`).join(' ');
    return [
      warning(
        `The search attributes ${missing.map(({ name }) => name).join(', ')} are not registered, so runs cannot be filtered by them.`,
        `Run: temporal operator search-attribute create --namespace ${namespace} ${options}`,
      ),
    ];
  },
};
