package holdfast.interop;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import org.redisson.config.BaseConfig;
import org.redisson.config.Config;

/**
 * A name mapper that puts a prefix before all names. Redisson has moved both the interface and the setting between its
 * releases, so both are looked up by name.
 */
final class NamePrefix {
    private NamePrefix() {}

    static void set(Config config, BaseConfig<?> server, String prefix) {
        Object settings = setter(config) != null ? config : server;
        Method setter = setter(settings);
        if (setter == null) {
            throw new UnsupportedOperationException("this Redisson has no name mapper");
        }
        try {
            setter.invoke(settings, mapper(setter.getParameterTypes()[0], prefix));
        } catch (IllegalAccessException | InvocationTargetException failure) {
            throw new IllegalStateException(failure);
        }
    }

    private static Method setter(Object settings) {
        return Arrays.stream(settings.getClass().getMethods())
                .filter(method -> method.getName().equals("setNameMapper"))
                .findFirst()
                .orElse(null);
    }

    private static Object mapper(Class<?> type, String prefix) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (mapper, method, arguments) -> {
            return switch (method.getName()) {
                case "map" -> prefix + arguments[0];
                case "unmap" -> ((String) arguments[0]).substring(prefix.length());
                default -> method.getName();
            };
        });
    }
}
