import type { NativeConnection } from '@temporalio/worker';
import { temporal } from '@temporalio/proto';
import type { Logger } from '../logger';
import { SEARCH_ATTRIBUTES } from './deliveryRuns';

const { INDEXED_VALUE_TYPE_KEYWORD, INDEXED_VALUE_TYPE_KEYWORD_LIST } = temporal.api.enums.v1.IndexedValueType;

/**
 * Registers the search attributes of delivery runs where the server allows it. Without them everything works; only the
 * filters of the Temporal UI are missed.
 *
 * @returns whether starts may name them
 */
export async function ensureSearchAttributes(
  connection: NativeConnection,
  namespace: string,
  logger: Logger,
): Promise<boolean> {
  const wanted = {
    [SEARCH_ATTRIBUTES.eventType.name]: INDEXED_VALUE_TYPE_KEYWORD,
    [SEARCH_ATTRIBUTES.aggregateId.name]: INDEXED_VALUE_TYPE_KEYWORD,
    [SEARCH_ATTRIBUTES.handler.name]: INDEXED_VALUE_TYPE_KEYWORD_LIST,
  };
  try {
    const known = async () => {
      const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
      // Of another type, a start that names them is refused like one that names unknown ones.
      return Object.entries(wanted).every(([name, type]) => customAttributes?.[name] === type);
    };
    if (await known()) return true;
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes: wanted });
    return await known();
  } catch (error) {
    logger.debug(`Search attributes are not used: ${(error as Error).message}`);
    return false;
  }
}
