package org.jccl.machine;

import java.lang.classfile.ClassBuilder;
import java.lang.classfile.ClassElement;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeModel;
import java.lang.classfile.MethodModel;
import java.lang.classfile.TypeKind;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.MonitorInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.util.Map;
import java.util.Set;

/**
 * Gives a class to the simulated computer: its calls of the system become calls of {@link Calls}.
 * Monitors go, since a thread gives way only where it waits.
 */
final class Rewriting {
    private static final ClassDesc CALLS = ClassDesc.of("org.jccl.machine.Calls");

    /** Methods that become the static method of {@link Calls} with the object as first argument. */
    private static final Set<String> CALLED =
            Set.of(
                    "java/lang/System.nanoTime()J",
                    "java/lang/Object.wait(J)V",
                    "java/lang/Object.notifyAll()V",
                    "java/lang/Thread.start()V",
                    "java/lang/ProcessHandle.pid()J",
                    "java/lang/ref/Cleaner.register(Ljava/lang/Object;Ljava/lang/Runnable;)"
                            + "Ljava/lang/ref/Cleaner$Cleanable;",
                    "java/security/SecureRandom.nextBytes([B)V",
                    "java/security/SecureRandom.nextLong()J",
                    "java/util/concurrent/locks/Condition.awaitNanos(J)J",
                    "java/util/concurrent/locks/Condition.signal()V",
                    "java/util/concurrent/locks/Condition.signalAll()V",
                    "java/util/concurrent/locks/LockSupport.park(Ljava/lang/Object;)V",
                    "java/util/concurrent/locks/LockSupport.parkNanos(J)V",
                    "java/util/concurrent/locks/LockSupport.parkNanos(Ljava/lang/Object;J)V",
                    "java/util/concurrent/locks/LockSupport.unpark(Ljava/lang/Thread;)V");

    /** Methods that do nothing. */
    private static final Set<String> DROPPED =
            Set.of(
                    "java/util/concurrent/locks/ReentrantLock.lock()V",
                    "java/util/concurrent/locks/ReentrantLock.unlock()V");

    /** By class and name: methods that {@link Calls} has instead, under the name given here. */
    private static final Map<String, String> REPLACED =
            Map.of(
                    "org/jccl/platform/SystemCall.plain", "plain",
                    "org/jccl/platform/Environment.get", "variable",
                    "org/jccl/platform/ProcessIdentity.read", "file",
                    "org/jccl/log/Log.survived", "survived");

    private Rewriting() {}

    /**
     * The rewritten class.
     *
     * @param faults methods, as Class.name, that do nothing and return 0, false or null
     */
    static byte[] rewrite(byte[] original, Set<String> faults) {
        ClassFile files = ClassFile.of(ClassFile.StackMapsOption.STACK_MAPS_WHEN_REQUIRED);
        ClassModel model = files.parse(original);
        String owner = model.thisClass().asInternalName();
        return files.transformClass(
                model, (builder, element) -> rewrite(builder, element, owner, faults));
    }

    private static void rewrite(
            ClassBuilder builder, ClassElement element, String owner, Set<String> faults) {
        if (!(element instanceof MethodModel method)) {
            builder.with(element);
            return;
        }
        int flags = method.flags().flagsMask() & ~ClassFile.ACC_SYNCHRONIZED;
        builder.withMethod(
                method.methodName(),
                method.methodType(),
                flags,
                with -> {
                    for (var part : method) {
                        if (part instanceof CodeModel code) {
                            with.withCode(body -> rewrite(body, code, owner, method, faults));
                        } else if (!(part instanceof java.lang.classfile.AccessFlags)) {
                            with.with(part);
                        }
                    }
                });
    }

    private static void rewrite(
            CodeBuilder body,
            CodeModel code,
            String owner,
            MethodModel method,
            Set<String> faults) {
        String name = owner + "." + method.methodName().stringValue();
        MethodTypeDesc type = method.methodTypeSymbol();
        String instead = REPLACED.get(name);
        if (name.equals("org/jccl/platform/SystemCall.call") && type.parameterCount() == 7) {
            instead = "call";
        }
        if (instead != null) {
            int slot = 0;
            for (ClassDesc each : type.parameterList()) {
                TypeKind kind = TypeKind.from(each);
                body.loadLocal(kind, slot);
                slot += kind.slotSize();
            }
            body.invokestatic(CALLS, instead, type).return_(TypeKind.from(type.returnType()));
        } else if (faults.contains(name.substring(name.lastIndexOf('/') + 1))) {
            doNothing(body, type.returnType());
        } else {
            code.forEach(each -> rewrite(body, each));
        }
    }

    private static void doNothing(CodeBuilder body, ClassDesc result) {
        TypeKind kind = TypeKind.from(result);
        switch (kind) {
            case VOID -> body.return_();
            case REFERENCE -> body.aconst_null().areturn();
            case LONG -> body.lconst_0().lreturn();
            case FLOAT -> body.fconst_0().freturn();
            case DOUBLE -> body.dconst_0().dreturn();
            default -> body.iconst_0().ireturn();
        }
    }

    private static void rewrite(CodeBuilder body, CodeElement element) {
        if (element instanceof MonitorInstruction) {
            body.pop();
            return;
        }
        if (!(element instanceof InvokeInstruction call)) {
            body.with(element);
            return;
        }
        String name = call.name().stringValue();
        String what = call.owner().asInternalName() + "." + name + call.type().stringValue();
        if (DROPPED.contains(what)) {
            body.pop();
        } else if (CALLED.contains(what)) {
            body.invokestatic(CALLS, name, staticType(call));
        } else {
            body.with(element);
        }
    }

    private static MethodTypeDesc staticType(InvokeInstruction call) {
        MethodTypeDesc type = call.typeSymbol();
        boolean isStatic = call.opcode() == java.lang.classfile.Opcode.INVOKESTATIC;
        return isStatic ? type : type.insertParameterTypes(0, receiver(call));
    }

    /** Threads and other objects are told apart by {@link Calls}; the rest is an Object. */
    private static ClassDesc receiver(InvokeInstruction call) {
        ClassDesc owner = call.owner().asSymbol();
        return owner.displayName().equals("Thread") ? owner : ConstantDescs.CD_Object;
    }
}
